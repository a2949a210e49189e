"""The rules for the text of a function, which are checked on its syntax tree."""

import ast
import builtins
import difflib
import inspect
from types import FunctionType, ModuleType
from typing import Any, Protocol

import numpy as np

from ..errors import KernelError
from ..kernels import block
from ..kernels.static import static
from . import refused
from .brackets import Brackets
from .digest import is_named
from .known import UNKNOWN, Known, content, is_load, read_annotations
from .source import at_line
from .threads import misplaced

ARRAY, WORDS, NUMBER, PARAMETER, VALUE = "array", "words", "number", "parameter", "value"  # kinds of parameters
_ACCESSORS = {ARRAY: ("load", "store"), PARAMETER: ("load", "store"), WORDS: ("read_epoch", "write_epoch")}
_IN_FORMULAS = ("real", "product", "multiply_add", "bits", "static")
_PASS = "pass it as a parameter, such as n: int"
_KERNELS = block.__name__.rpartition(".")[0]
_PRIMITIVES = {name for name, value in vars(block).items() if hasattr(value, "is_primitive")} | {"static", "Static"}


def kind_of(annotation: Any) -> Any:
    """The kind of a parameter with this annotation: a text, the class of a record, or None if it is unknown."""
    if annotation == block.Elements:
        return ARRAY
    if annotation == block.Words:
        return WORDS
    if annotation in (int, float):
        return NUMBER
    return annotation if isinstance(annotation, type) and hasattr(annotation, "_fields") else None


class Program(Protocol):
    """The program that a function belongs to (``mistakes.py``)."""

    is_formula: bool

    def called(self, function: FunctionType, kinds: list[Any], is_value_used: bool) -> None: ...


class TextRules(ast.NodeVisitor):
    """Checks a function.

    kinds: {parameter: its kind, or the class of a record}
    role:  "kernel", "formula" or "helper"
    """

    def __init__(self, function: FunctionType, tree: Any, kinds: dict[str, Any], role: str, program: Program):
        self._function, self._tree, self._role, self._program = function, tree, role, program
        self._known, self._local = Known(function, tree, {}), _names_bound(tree)
        self._kinds = {name: kind for name, kind in kinds.items() if name not in self._known.times_assigned}
        self._unused: set[ast.AST] = set()  # calls whose value is not used
        self._texts: dict[str, tuple[bool, int]] = {}  # {variable: (whether a text is assigned to it, line)}
        self._depth = 0

    def check(self) -> None:
        """Raise KernelError for the first mistake."""
        if isinstance(self._tree, ast.Lambda):
            self.visit_Lambda(self._tree)
        else:
            self._check_first_values()
            self._lines(self._tree.body)
        if mistake := misplaced(self._tree, self._value):
            raise self._mistake(*mistake)

    def _mistake(self, node: Any, what: str) -> KernelError:
        return at_line(self._function, node.lineno, what)

    # Names ------------------------------------------------------------------------------

    def _value(self, node: ast.expr) -> Any:
        """The value of a name or of an attribute of a module; UNKNOWN for any other expression."""
        if isinstance(node, ast.Name):
            return UNKNOWN if node.id in self._local else self._known.lookup(node.id)
        owner = self._value(node.value) if isinstance(node, ast.Attribute) else UNKNOWN
        return getattr(owner, node.attr, UNKNOWN) if isinstance(owner, ModuleType) else UNKNOWN  # type: ignore[attr-defined]

    def _kind(self, node: ast.expr) -> Any:
        """The kind of an expression, as ``kind_of`` has it for a parameter."""
        if isinstance(node, ast.Name):
            return self._kinds.get(node.id)
        if isinstance(node, ast.Attribute) and hasattr(record := self._kind(node.value), "_fields"):
            return kind_of(read_annotations(record).get(node.attr))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            kinds = {self._kind(node.left), self._kind(node.right)}
            return next((kind for kind in (ARRAY, WORDS) if kind in kinds), None)
        return None

    def visit_Name(self, node: ast.Name) -> None:
        if is_load(node) and not self._is_defined(node.id):
            raise self._mistake(node, f"name '{node.id}' is not defined{self._remedy(node.id)}")

    def _is_defined(self, name: str) -> bool:
        cells, known = self._known.cells, (self._local, self._known.globals, vars(builtins))
        return content(cells[name]) is not UNKNOWN if name in cells else any(name in names for names in known)

    def _remedy(self, name: str) -> str:
        if name in _PRIMITIVES:
            return f": from {block.__name__} import {name}"
        names = {*self._local, *self._known.globals, *self._known.cells, *_PRIMITIVES, *refused.BUILTINS}
        return _suggestion(name, names)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.visit(node.value)
        owner, kind, text = self._value(node.value), self._kind(node.value), ast.unparse(node.value)
        if isinstance(owner, ModuleType) and not hasattr(owner, node.attr):
            suggestion = _suggestion(node.attr, vars(owner))
            raise self._mistake(node, f"module {owner.__name__} has no '{node.attr}'{suggestion}")
        if hasattr(kind, "_fields") and not hasattr(kind, node.attr):
            raise self._mistake(node, f"{kind.__name__} has no field '{node.attr}'{_suggestion(node.attr, kind._fields)}")
        if kind in _ACCESSORS:
            raise self._mistake(node, f"{text} is an address in a kernel and has no '{node.attr}': {_PASS}")
        if kind in (NUMBER, VALUE):
            raise self._mistake(node, f"{text} is a number and has no '{node.attr}'")

    # Brackets ---------------------------------------------------------------------------

    def _accessors(self, node: ast.expr) -> tuple[str, str] | None:
        kind = self._kind(node)
        return _ACCESSORS.get(kind) if isinstance(kind, str) else None

    def visit_Subscript(self, node: ast.Subscript) -> None:
        kind, text = self._kind(node.value), ast.unparse(node.value)
        if self._accessors(node.value):
            raise self._mistake(node, f"brackets: write {Brackets(self._accessors).text(node)}")
        if kind == NUMBER:
            raise self._mistake(node, f"brackets: {text} is a number; annotate an array as Elements, and write load")
        if kind == VALUE:
            raise self._mistake(node, f"brackets: {text} is a number, the value at one point")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign | ast.AugAssign) -> None:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(target, ast.Subscript) and self._accessors(target.value):
            raise self._mistake(node, f"brackets: write {Brackets(self._accessors).text(node)}")
        if isinstance(target, ast.Name) and isinstance(node.value, ast.Constant):
            is_text = isinstance(node.value.value, str)
            before, line = self._texts.setdefault(target.id, (is_text, node.lineno))
            if before is not is_text:
                kinds = ("a text", "a number") if is_text else ("a number", "a text")
                raise self._mistake(node, f"{target.id} is {kinds[0]} here and {kinds[1]} in line {line}")
        self.generic_visit(node)

    visit_AugAssign = visit_Assign

    def visit_For(self, node: ast.For) -> None:
        if self._kind(node.iter) in (*_ACCESSORS, NUMBER, VALUE):
            text = ast.unparse(node.iter)
            raise self._mistake(node.iter, f"{text} is no sequence in a kernel: loop over indices, lanes(0, n)")
        self.generic_visit(node)

    # Calls ------------------------------------------------------------------------------

    def visit_Expr(self, node: ast.Expr) -> None:
        self._unused.add(node.value)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        called, text = self._value(node.func), ast.unparse(node.func)
        if self._accessors(node.func):
            raise self._mistake(node, f"write load({text}, i)")
        self.visit(node.func)
        if hasattr(called, "is_primitive"):
            self._check_primitive(node, called)
        elif isinstance(called, FunctionType) and not is_named(called):
            self._check_helper(node, called)
        elif called is not UNKNOWN and (why := self._why_not(node, called)):
            raise self._mistake(node, why)
        if called is len and node.args and self._kind(node.args[0]) in (*_ACCESSORS, NUMBER, VALUE):
            raise self._mistake(node, f"{ast.unparse(node.args[0])} has no length in a kernel: {_PASS}")
        self._arguments(node)

    def _why_not(self, node: ast.Call, called: Any) -> str:
        """Why a kernel may not call an object that is not a plain function; "" if it may."""
        if isinstance(node.func, ast.Attribute):
            owner = self._value(node.func.value)
            return refused.why_not_of_module(owner.__name__, node.func.attr, called)
        if isinstance(node.func, ast.Name) and vars(builtins).get(node.func.id) is called:
            is_static = node.func.id in refused.STATIC_ONLY and self._over_static(node)
            return "" if is_static else refused.why_not_builtin(node.func.id)
        module = "numpy" if isinstance(called, np.ufunc) else getattr(called, "__module__", None) or ""
        return refused.why_not_of_module(module, getattr(called, "__name__", ""), called)

    def _check_primitive(self, node: ast.Call, called: Any) -> None:
        self._check_signature(node, called)
        if self._program.is_formula and called.__name__ not in _IN_FORMULAS:
            what = f"a formula has no {called.__name__}(): it gets the values of the point and its neighbours"
            raise self._mistake(node, what)
        if inspect.signature(called).return_annotation is None and node not in self._unused:
            raise self._mistake(node, f"{called.__name__}() has no value")

    def _check_helper(self, node: ast.Call, called: FunctionType) -> None:
        if isinstance(node.func, ast.Attribute) and not called.__module__.startswith(_KERNELS):
            name = node.func.attr
            raise self._mistake(node, f"from {called.__module__} import {name}, and call {name}() without its module")
        self._check_signature(node, called)
        kinds = [self._kind(argument) for argument in node.args]
        if not any(isinstance(argument, ast.Starred) for argument in node.args):
            self._program.called(called, kinds, node not in self._unused)

    def _check_signature(self, node: ast.Call, called: Any) -> None:
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            return
        if any(keyword.arg is None for keyword in node.keywords):
            return
        signature = inspect.signature(called)
        try:
            signature.bind(*node.args, **{str(keyword.arg): keyword.value for keyword in node.keywords})
        except TypeError as error:
            names = ", ".join(signature.parameters)
            raise self._mistake(node, f"{called.__name__}({names}): {error}") from None

    def _over_static(self, node: ast.Call) -> bool:
        """Whether the argument is a generator over static(...)."""
        inner = node.args[0] if node.args else None
        if not isinstance(inner, ast.GeneratorExp):
            return False
        loop = inner.generators[0].iter
        return isinstance(loop, ast.Call) and self._value(loop.func) is static

    def _arguments(self, node: ast.Call) -> None:
        if self._over_static(node):
            self.generic_visit(node.args[0])
        arguments = (*node.args[self._over_static(node) :], *(keyword.value for keyword in node.keywords))
        for argument in arguments:
            self.visit(argument)

    # Statements -------------------------------------------------------------------------

    def visit(self, node: ast.AST) -> None:
        if why := refused.NODES.get(type(node)):
            raise self._mistake(node, why)
        super().visit(node)

    def _lines(self, body: list[ast.stmt]) -> None:
        for line in body:
            self.visit(line)

    def visit_If(self, node: ast.If) -> None:
        chosen = self._known.value(node.test)
        if chosen is UNKNOWN:
            self.generic_visit(node)
        else:
            self._lines(node.body if chosen else node.orelse)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._depth += 1
        self._lines(node.body)
        self._depth -= 1

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        raise self._mistake(node, "a kernel has no generator: write a loop, or loop over static(n)")

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._unused.add(node.body)
        self.visit(node.body)

    def visit_Return(self, node: ast.Return) -> None:
        value = node.value
        is_value = value is not None and not (isinstance(value, ast.Constant) and value.value is None)
        if self._role == "kernel" and is_value and not self._depth:
            raise self._mistake(node, "a kernel returns nothing: write the value to an array, by store(y, i, value)")
        is_text = isinstance(value, ast.Constant) and isinstance(value.value, str)
        if self._role == "formula" and not self._depth and (is_text or isinstance(value, ast.Tuple)):
            raise self._mistake(node, "a formula returns one number")
        self.generic_visit(node)

    def _check_first_values(self) -> None:
        """Raise KernelError for a variable to which only += and the like assign."""
        added = [node.target for node in ast.walk(self._tree) if isinstance(node, ast.AugAssign)]
        names = [node for node in added if isinstance(node, ast.Name)]
        for node in names:
            times = sum(name.id == node.id for name in names)
            is_parameter = any(part.arg == node.id for part in ast.walk(self._tree) if isinstance(part, ast.arg))
            if self._known.times_assigned[node.id] == times and not is_parameter:
                raise self._mistake(node, f"{node.id} has no value yet: write {node.id} = 0.0 before the loop")


def _suggestion(name: str, names: Any) -> str:
    """A question that suggests the most similar name, if a name is similar."""
    similar = difflib.get_close_matches(name, list(names), 1)
    return f": did you mean {similar[0]}?" if similar else ""


def _names_bound(tree: ast.AST) -> set[str]:
    """The names of a function's parameters and variables, and of the functions inside it."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not is_load(node):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif node is not tree and isinstance(node, ast.FunctionDef | ast.MatchAs | ast.MatchStar) and node.name:
            names.add(node.name)
    return names
