"""The values in a function that are known when a kernel is compiled."""

import ast
import inspect
from collections.abc import Callable
from functools import lru_cache
from types import FunctionType, ModuleType
from typing import Any

from ..kernels.static import STATIC, static
from .reads import cells_read, globals_read

MOST_KEPT = 4096
UNKNOWN = object()
_CALLED = {min, max, abs, len, int, float, bool, range, sum, divmod, tuple}
_CONSTANTS = (int, float, str, bytes, bool, type(None))
_NOT_EVALUATED = ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.NamedExpr, ast.Starred, ast.Await


class Known:
    """The values of names in a function.

    values: values of its static parameters; also those of loop variables and of variables that are assigned once
    """

    def __init__(self, function: FunctionType, tree: ast.FunctionDef, values: dict[str, Any]):
        self.values = dict(values)
        self.globals = dict(function.__globals__)
        self.cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        self.static = set(values) | {name for name, cell in self.cells.items() if is_constant(content(cell))}
        self._filename = function.__code__.co_filename
        stored = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not is_load(node)]
        self.times_assigned = {name: stored.count(name) for name in stored}
        self._parameters = {node.arg for node in ast.walk(tree.args) if isinstance(node, ast.arg)}

    def lookup(self, name: str) -> Any:
        """The value of a name, or UNKNOWN."""
        if name in self.values:
            return self.values[name]
        if name in self.times_assigned or name in self._parameters:
            return UNKNOWN
        if name in self.cells:
            return content(self.cells[name])
        if name in self.globals:
            return self.globals[name]
        builtins = self.globals.get("__builtins__", {})
        return (vars(builtins) if isinstance(builtins, ModuleType) else builtins).get(name, UNKNOWN)

    def value(self, node: ast.expr) -> Any:
        """The value of an expression, or UNKNOWN."""
        names = {part.id: self.lookup(part.id) for part in ast.walk(node) if isinstance(part, ast.Name)}
        if any(value is UNKNOWN for value in names.values()) or not all(map(self._may_evaluate, ast.walk(node))):
            return UNKNOWN
        try:
            return eval(compile(ast.Expression(node), self._filename, "eval"), dict(names))
        except Exception:  # an expression may raise any exception, which the compiler of the kernel reports
            return UNKNOWN

    def called(self, node: ast.Call) -> Any:
        """The function of a call, or UNKNOWN."""
        return UNKNOWN if any(isinstance(part, ast.Call) for part in ast.walk(node.func)) else self.value(node.func)

    def _may_evaluate(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Attribute):
            owner = self.value(node.value)
            is_of_module = isinstance(owner, ModuleType)  # a module may also have names that only a compiler knows
            return hasattr(owner, "_fields") or is_of_module and _may_be_known(getattr(owner, node.attr, UNKNOWN))
        if not isinstance(node, ast.Call):
            return not isinstance(node, _NOT_EVALUATED)
        called = self.called(node)
        is_record = isinstance(called, type) and hasattr(called, "_fields")
        may_call = is_record or returns_static(called) or any(called is function for function in _CALLED)
        return may_call and not node.keywords

    def is_static(self, node: ast.expr) -> bool:
        """Whether an expression reads a static parameter, or a value computed from one.

        Other known values stay in the text as names, since ``bind`` may give a global another value.
        """
        return any(isinstance(part, ast.Name) and part.id in self.static for part in ast.walk(node))

    def keep(self, target: ast.expr, value: Any, source: ast.expr) -> bool:
        """Whether a variable is replaced by its value from its assignment on, and the assignment is deleted."""
        if value is UNKNOWN or not isinstance(target, ast.Name):
            return False
        if target.id != "_":
            if self.times_assigned[target.id] != 1:
                return False
            if not (is_constant(value) or callable(value) or hasattr(value, "_fields")):
                return False
            self.values[target.id] = value
        if self.is_static(source):
            self.static.add(target.id)
        return target.id in self.static

    def named(self, value: Any, name: str) -> ast.Name:
        """A global name for a value."""
        unique, k = name, 0
        while self.globals.get(unique, value) is not value or unique in self.times_assigned or unique in self._parameters:
            k += 1
            unique = f"{name}_{k}"
        self.globals[unique] = value
        return ast.Name(unique, ast.Load())


def content(cell: Any) -> Any:
    """The value in a cell of a closure; UNKNOWN if the cell is not bound yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return UNKNOWN


def uses_static(function: Callable[..., Any]) -> bool:
    """Whether a function, or a function that it calls, has a static loop or calls a function with static parameters."""
    functions: list[Any] = [function]
    for reached in functions:  # the loop appends to the list
        for value in (*globals_read(reached).values(), *cells_read(reached).values()):
            if value is static or (isinstance(value, FunctionType) and static_parameters(value)):
                return True
            if isinstance(value, FunctionType) and value not in functions:
                functions.append(value)
    return False


@lru_cache(MOST_KEPT)
def read_annotations(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations, evaluated; empty if an annotation can't be evaluated."""
    try:
        return inspect.get_annotations(function, eval_str=True)
    except (NameError, AttributeError, TypeError):
        return {}


def static_parameters(function: Callable[..., Any]) -> list[str]:
    """The names of the parameters that are annotated ``Static[...]``."""
    return [name for name, kind in read_annotations(function).items() if name != "return" and _is_static(kind)]


def returns_static(function: Any) -> bool:
    """Whether a function is annotated to return ``Static[...]``."""
    is_hashable = getattr(type(function), "__hash__", None) is not None
    return callable(function) and is_hashable and _is_static(read_annotations(function).get("return"))


def _is_static(annotation: Any) -> bool:
    return STATIC in getattr(annotation, "__metadata__", ())


def is_constant(value: Any) -> bool:
    """Whether a value may stand in the text of a function: a number, a text, None, or a tuple of these."""
    if type(value) is tuple:
        return all(map(is_constant, value))
    return isinstance(value, _CONSTANTS)


def _may_be_known(value: Any) -> bool:
    return is_constant(value) or isinstance(value, FunctionType | ModuleType)


def is_load(node: Any) -> bool:
    """Whether an expression is read, not assigned to."""
    return isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
