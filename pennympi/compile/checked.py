"""A copy of a kernel that calls the checked primitives; the functions that it calls are copied in the same way."""

import ast
import copy
import inspect
from types import FunctionType
from typing import Any, NamedTuple

from .bounds import CHECKS, checked_primitive
from .digest import is_named
from .known import Known, returns_static
from .source import code_of, place, tree_of
from .unroll import unrolled

_BOUNDS = "bounds_"


class Site(NamedTuple):
    """An operand of a call of a primitive.

    place: "file:line" of the call;  call: its text
    primitive, operand: names of the primitive and of its parameter;  argument: text of the argument
    """

    place: str
    call: str
    primitive: str
    operand: str
    argument: str


def checked(kernel: FunctionType) -> tuple[FunctionType, list[Site]]:
    """A copy of a kernel, with ``bounds`` as an additional last parameter; and the operands in the copy.

    Raises StaticError if the text of a function can't be read.
    """
    copies = _Copies()
    result = copies.copied(kernel, is_kernel=True)
    copies.enter()
    return result, copies.sites


class _Copies:
    """The copies of functions; each function is copied once."""

    def __init__(self) -> None:
        self.sites: list[Site] = []
        self._numbers: dict[Any, int] = {}
        self._copied: dict[Any, FunctionType] = {}
        self._callers: list[tuple[dict[str, Any], str, Any]] = []  # globals of a caller, name in them, function

    def name_of(self, function: FunctionType, scope: dict[str, Any]) -> str:
        """The name of the copy of a function among the globals of a caller."""
        if function not in self._numbers:  # it may call itself, so it has a number before it is copied
            self._numbers[function] = len(self._numbers)
            self._copied[function] = self.copied(function)
        name = f"{function.__name__}_{self._numbers[function]}_"
        self._callers.append((scope, name, function))
        return name

    def enter(self) -> None:
        """Enter the copies among the globals of their callers."""
        for scope, name, function in self._callers:
            scope[name] = self._copied[function]

    def copied(self, function: FunctionType, is_kernel: bool = False) -> FunctionType:
        """The copy of a function.  ``bounds`` is the last parameter of a kernel, and the first of any other function."""
        written = unrolled(function)
        tree = copy.deepcopy(getattr(written, "tree", None)) or tree_of(written, "a checked kernel")
        known = Known(written, tree, {})
        _Caller(written, known, self).visit_lines(tree)
        names = tree.args.args if is_kernel else tree.args.posonlyargs or tree.args.args
        names.insert(len(names) if is_kernel else 0, ast.arg(_BOUNDS))
        code = code_of(tree, tuple(known.cells), written.__code__)
        closure = tuple(known.cells[name] for name in code.co_freevars)
        result = FunctionType(code, known.globals, written.__name__, written.__defaults__, closure)
        result.__kwdefaults__, result.__annotations__ = written.__kwdefaults__, written.__annotations__
        result.__module__, result.__qualname__ = written.__module__, f"{written.__qualname__}_checked"
        return result


class _Caller(ast.NodeTransformer):
    """Replaces the calls in a function by calls of checked functions."""

    def __init__(self, function: FunctionType, known: Known, copies: _Copies):
        self._function, self._known, self._copies = function, known, copies

    def visit_lines(self, tree: ast.FunctionDef) -> None:
        """Change the lines of a function."""
        tree.body = [self.visit(line) for line in tree.body]

    def visit_Call(self, node: ast.Call) -> Any:
        called = self._known.called(node)
        if getattr(called, "is_primitive", False) and called.__name__ in CHECKS:
            first = len(self._copies.sites)
            self._copies.sites += self._sites(node, called)
            function = self._known.named(checked_primitive(called.__name__), called.__name__)
            arguments = [ast.Name(_BOUNDS, ast.Load()), ast.Constant(first), *node.args]
        elif isinstance(called, FunctionType) and self._is_bound(called):
            function = ast.Name(self._copies.name_of(called, self._known.globals), ast.Load())
            arguments = [ast.Name(_BOUNDS, ast.Load()), *node.args]
        else:
            return self.generic_visit(node)
        changed = ast.Call(function, arguments, node.keywords)
        return ast.copy_location(self.generic_visit(changed), node)

    def _is_bound(self, called: FunctionType) -> bool:
        return not (hasattr(called, "is_primitive") or is_named(called) or returns_static(called))

    def _sites(self, node: ast.Call, called: Any) -> list[Site]:
        """The operands of a call of a primitive."""
        where, text, arguments = place(self._function, node.lineno), ast.unparse(node), _bound(node, called)
        name, sites = called.__name__, []
        for operand in CHECKS[name].operands:
            parameter, _, field = operand.partition(".")
            argument = arguments.get(parameter, ast.Name(parameter, ast.Load()))
            sites.append(Site(where, text, name, field or parameter, self._text_of(argument, field)))
        return sites

    def _text_of(self, argument: Any, field: str) -> str:
        """The text of an argument; if the argument is a record, of its field."""
        record = self._known.called(argument) if isinstance(argument, ast.Call) else None
        if field and hasattr(record, "_fields"):
            return ast.unparse(_bound(argument, record).get(field, argument))
        return ast.unparse(argument) + f".{field}" * bool(field)


def _bound(node: ast.Call, called: Any) -> dict[str, Any]:
    """{parameter: argument} of a call; {} if the call unpacks arguments."""
    if any(isinstance(argument, ast.Starred) for argument in node.args):
        return {}
    keywords = {str(keyword.arg): keyword.value for keyword in node.keywords}
    return inspect.signature(called).bind(*node.args, **keywords).arguments
