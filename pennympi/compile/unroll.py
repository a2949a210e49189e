"""Static loops and static parameters, written out before compiling, since Numba unrolls no loop over a tuple.

    @unrolled
    def row(u, d):
        return tuple(u[k] + d[k] for k in static(WIDTH))       # (u[0] + d[0], u[1] + d[1], ...)

    def level(depth: Static[int], u): ...
    specialised(level, 3)                                      # level(u), in which depth is 3

Known values are: the numbers, texts and tuples in a function's globals and closure, its ``Static`` parameters, the
variable of a loop over ``static(...)``, and a variable with a single assignment, of a known value.  A known condition
leaves only the branch that is taken.  A call of a function with ``Static`` parameters becomes a call of its copy for
these values; a call of a function that returns ``Static`` becomes its result.  A generator over ``static(...)`` may be
the argument of tuple, sum, min, max, all and any.  Triton (tl.static_range, tl.constexpr), Taichi (ti.static) and Warp
work the same way.
"""

import ast
import copy
import inspect
from collections.abc import Callable, Iterator
from functools import lru_cache, reduce
from types import FunctionType
from typing import Any

from ..kernels.static import Static, static
from .known import MOST_KEPT, UNKNOWN, Known, is_constant, is_load, static_parameters, uses_static
from .source import StaticError, code_of, place, tree_of

__all__ = ["Static", "StaticError", "specialised", "static", "unrolled"]

_LEAVES = ast.Return, ast.Raise, ast.Continue, ast.Break


def specialised(function: Callable[..., Any], *values: Any) -> FunctionType:
    """A copy of a function for these values of its ``Static`` parameters, in order, with all static parts written out.

    Raises StaticError, a TypeError, for an unknown value that must be known, too many values, or no plain function.
    """
    if not isinstance(function, FunctionType):
        raise StaticError(f"static parameters belong to a plain Python function, and {type(function).__name__} is none")
    names = static_parameters(function)
    if len(values) > len(names):
        known = f"the values of its static parameters ({', '.join(names)})" if names else "no values: nothing is static"
        raise StaticError(f"{place(function)}: {function.__name__} takes {known}, not {len(values)}")
    return _written(function, tuple(zip(names, values, strict=False)))


def unrolled(function: Callable[..., Any]) -> FunctionType:
    """A copy of a function in which its static loops, and those of the functions that it calls, are written out."""
    return specialised(function)


def _written(function: Any, values: tuple[tuple[str, Any], ...]) -> FunctionType:
    """The copy for some values.  Copies of the library's functions are kept, since what they read never changes."""
    if not values and not uses_static(function):
        return function
    if function.__module__.startswith(__name__.split(".")[0] + "."):
        types = tuple(type(value) for _, value in values)  # 1, 1.0 and True are equal, but not the same value
        return _kept(function, values, types)
    return _Writer(function, dict(values)).function()


@lru_cache(MOST_KEPT)
def _kept(function: FunctionType, values: tuple[tuple[str, Any], ...], types: tuple[type, ...]) -> FunctionType:
    return _Writer(function, dict(values)).function()


class _Writer(ast.NodeTransformer):
    """Writes out a function for some values."""

    def __init__(self, function: FunctionType, values: dict[str, Any]):
        self._function = function
        self._values = values
        self._tree = tree_of(function)
        self._known = Known(function, self._tree, values)

    def function(self) -> FunctionType:
        """The copy of the function."""
        original, values = self._function, self._values
        if lacking := [name for name in static_parameters(original) if name not in values]:
            raise StaticError(f"{place(original)}: {original.__name__} needs values of {', '.join(lacking)}")
        self._tree.body = self._lines(self._tree.body) or [ast.Pass()]
        self._tree.args = self._remaining_parameters()
        code = code_of(self._tree, tuple(self._known.cells), original.__code__)
        remaining = [p for name, p in inspect.signature(original).parameters.items() if name not in values]
        defaults = tuple(p.default for p in remaining if p.default is not p.empty and p.kind is not p.KEYWORD_ONLY)
        closure = tuple(self._known.cells[name] for name in code.co_freevars)
        result = FunctionType(code, self._known.globals, original.__name__, defaults or None, closure)
        result.__kwdefaults__ = original.__kwdefaults__
        annotations = original.__annotations__.items()
        result.__annotations__ = {name: annotation for name, annotation in annotations if name not in values}
        result.__module__, result.__doc__ = original.__module__, original.__doc__
        result.written_from = original, tuple(sorted(values.items()))  # type: ignore[attr-defined]  # for its key
        result.tree = self._tree  # type: ignore[attr-defined]  # for ``checked``
        shown = ", ".join(f"{name}={value}" for name, value in values.items() if is_constant(value))
        result.__qualname__ = original.__qualname__ + (f"[{shown}]" if shown else "")
        return result

    def _remaining_parameters(self) -> ast.arguments:
        """The parameters that get no value, without their defaults."""
        old = self._tree.args
        positional, named, keywords = (
            [node for node in nodes if node.arg not in self._values]
            for nodes in (old.posonlyargs, old.args, old.kwonlyargs)
        )
        return ast.arguments(positional, named, old.vararg, keywords, [None] * len(keywords), old.kwarg, [])

    def _refuse(self, node: ast.AST, why: str) -> StaticError:
        return StaticError(f"{place(self._function, getattr(node, 'lineno', None))}: {why}")

    def _must_know(self, node: ast.expr, what: str) -> Any:
        value = self._known.value(node)
        if value is UNKNOWN:
            raise self._refuse(
                node, f"{what} is static, but {ast.unparse(node)} is not known when the kernel is compiled"
            )
        return value

    def _bounds(self, call: ast.expr) -> range | None:
        """The range of ``static(...)``; None for any other expression."""
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            return None
        if self._known.lookup(call.func.id) is not static:
            return None
        return range(*(self._must_know(bound, "a bound of a loop") for bound in call.args))

    # Expressions

    def visit(self, node: ast.AST) -> Any:
        """The replacement of a node: a constant if its value is known and static."""
        if not isinstance(node, ast.expr) or isinstance(node, ast.Constant) or not is_load(node):
            return super().visit(node)
        if not self._known.is_static(node):
            return super().visit(node)
        value = self._known.value(node)
        if is_constant(value):
            return ast.copy_location(ast.Constant(value), node)
        if callable(value) and isinstance(node, ast.Name | ast.Attribute):
            return ast.copy_location(self._known.named(value, getattr(value, "__name__", "function")), node)
        return super().visit(node)

    def visit_Call(self, node: ast.Call) -> Any:
        inner = node.args[0] if node.args else None
        if isinstance(inner, ast.GeneratorExp) and self._bounds(inner.generators[0].iter) is not None:
            return ast.copy_location(self._joined(node, list(self._elements(inner, inner.generators))), node)
        called = self._known.called(node)
        if isinstance(called, FunctionType) and not hasattr(called, "is_primitive"):
            return ast.copy_location(self._call(node, called), node)
        return self.generic_visit(node)

    def _call(self, node: ast.Call, called: FunctionType) -> Any:
        """A call of a plain function, replaced by a call of its copy for the values of its static parameters."""
        wanted, parameters = static_parameters(called), inspect.signature(called).parameters
        names = list(parameters)
        values = {name: parameters[name].default for name in wanted if parameters[name].default is not inspect._empty}
        positional, keywords = [], []
        for k, argument in enumerate(node.args):
            is_counted = k < len(names) and not any(isinstance(before, ast.Starred) for before in node.args[: k + 1])
            if is_counted and names[k] in wanted:
                values[names[k]] = self._must_know(argument, f"{names[k]} of {called.__name__}")
            else:
                positional.append(argument)
        for keyword in node.keywords:
            if keyword.arg in wanted:
                values[keyword.arg] = self._must_know(keyword.value, f"{keyword.arg} of {called.__name__}")
            else:
                keywords.append(keyword)
        if lacking := [name for name in wanted if name not in values]:
            raise self._refuse(node, f"{called.__name__} needs values of {', '.join(lacking)}")
        copied = _written(called, tuple((name, values[name]) for name in wanted))
        if copied is called:
            return self.generic_visit(node)
        return self.generic_visit(ast.Call(self._known.named(copied, called.__name__), positional, keywords))

    def _elements(self, inner: ast.GeneratorExp, loops: list[ast.comprehension]) -> Iterator[ast.expr]:
        """The elements of a generator, written out."""
        if not loops:
            yield self.visit(copy.deepcopy(inner.elt))
            return
        numbers, target = self._bounds(loops[0].iter), loops[0].target
        if numbers is None or not isinstance(target, ast.Name):
            raise self._refuse(loops[0].iter, "each loop of this generator must be over static(...)")
        self._known.static.add(target.id)
        for k in numbers:
            self._known.values[target.id] = k
            if all(self._must_know(condition, "the condition of a generator") for condition in loops[0].ifs):
                yield from self._elements(inner, loops[1:])
        self._known.values.pop(target.id, None)

    def _joined(self, node: ast.Call, parts: list[ast.expr]) -> ast.expr:
        """A call of tuple, sum, min, max, all or any, written out for the elements."""
        name, arguments = ast.unparse(node.func), [self.visit(argument) for argument in node.args[1:]]
        if name == "tuple":
            return ast.Tuple(parts, ast.Load())
        if name in ("all", "any"):
            joins = ast.And() if name == "all" else ast.Or()
            return ast.BoolOp(joins, parts) if len(parts) > 1 else [*parts, ast.Constant(name == "all")][0]
        if name == "sum":
            return reduce(lambda x, y: ast.BinOp(x, ast.Add(), y), [*arguments, *parts] or [ast.Constant(0)])
        return ast.Call(node.func, [*parts, *arguments], node.keywords)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        chosen = self._known.value(node.test)
        if chosen is UNKNOWN:
            return self.generic_visit(node)
        return self.visit(node.body if chosen else node.orelse)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        """The operation without known operands that do not decide it."""
        decides, operands = isinstance(node.op, ast.Or), []
        for operand in node.values:
            value = self._known.value(operand)
            if value is UNKNOWN or bool(value) is decides:
                operands.append(self.visit(operand))
            if value is not UNKNOWN and bool(value) is decides:
                break
        if len(operands) < 2:
            return [*operands, self.visit(node.values[-1])][0]
        return ast.copy_location(ast.BoolOp(node.op, operands), node)

    # Statements

    def _lines(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The lines of a block, written out, up to the first that leaves the block."""
        result: list[ast.stmt] = []
        for line in body:
            written = self.visit(line)
            result += written if isinstance(written, list) else [written]
            if result and isinstance(result[-1], _LEAVES):
                break
        return result

    def visit_For(self, node: ast.For) -> Any:
        numbers = self._bounds(node.iter)
        if numbers is None:
            return self._block(node)
        if not isinstance(node.target, ast.Name) or node.orelse or _leaves(node.body):
            raise self._refuse(node, "a static loop has one variable, and no break, continue or else")
        result: list[ast.stmt] = []
        self._known.static.add(node.target.id)
        for k in numbers:
            self._known.values[node.target.id] = k
            result += self._lines(copy.deepcopy(node.body))
            if result and isinstance(result[-1], ast.Return):
                break
        return result

    def visit_While(self, node: ast.While) -> Any:
        return self._block(node)

    def _block(self, node: Any) -> Any:
        body, orelse = node.body, node.orelse
        node.body, node.orelse = [], []
        self.generic_visit(node)
        node.body, node.orelse = self._lines(body) or [ast.Pass()], self._lines(orelse)
        return node

    def visit_If(self, node: ast.If) -> Any:
        chosen = self._known.value(node.test)
        if chosen is UNKNOWN:
            node.test = self.visit(node.test)
            chosen = node.test.value if isinstance(node.test, ast.Constant) else UNKNOWN
        if chosen is UNKNOWN:
            node.body, node.orelse = self._lines(node.body) or [ast.Pass()], self._lines(node.orelse)
            return node
        return self._lines(node.body if chosen else node.orelse)

    def visit_Assign(self, node: ast.Assign) -> Any:
        target, value = node.targets[0], self._known.value(node.value)
        if len(node.targets) == 1 and self._known.keep(target, value, node.value):
            return []
        if not isinstance(target, ast.Tuple):
            return self.generic_visit(node)
        if isinstance(value, tuple) and len(value) == len(target.elts):
            kept = [self._known.keep(name, part, node.value) for name, part in zip(target.elts, value, strict=True)]
            if all(kept):
                return []
        if isinstance(node.value, ast.Tuple) and len(target.elts) == len(node.value.elts):
            pairs = list(zip(target.elts, node.value.elts, strict=True))
            parts = [self._known.value(part) for _, part in pairs]
            left = [pair for pair, part in zip(pairs, parts, strict=True) if not self._known.keep(pair[0], part, pair[1])]
            if len(left) < 2:
                return [ast.copy_location(ast.Assign([name], self.visit(part)), node) for name, part in left]
            target.elts, node.value.elts = [name for name, _ in left], [part for _, part in left]
        return self.generic_visit(node)


def _leaves(body: list[ast.stmt]) -> bool:
    """Whether a loop's body has a break or continue of this loop."""
    for line in body:
        if isinstance(line, ast.Break | ast.Continue):
            return True
        inside = [node for node in ast.iter_child_nodes(line) if isinstance(node, ast.stmt)]
        if not isinstance(line, ast.For | ast.While | ast.FunctionDef) and _leaves(inside):
            return True
    return False
