"""What a kernel does with the addresses that it is given, read in its text and in the functions that it calls.

Which arguments are arrays, and of which element type, only a launch knows; what lies at a parameter's address, only the
kernel's text says.  It is read without regard to the order of statements: a name stands for all that it is ever set to.
"""

import ast
import inspect
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterator
from enum import Flag, auto
from types import FunctionType
from typing import Any

from .bind import records

Origin = tuple[str, tuple[Any, ...]]  # a parameter, and the fields (by name or number) that lead to what is meant


class Use(Flag):
    """What a kernel takes to lie at an address: elements of its dtype, words of 64 bits; and whether it writes there."""

    ELEMENTS, WORDS, WRITTEN = auto(), auto(), auto()


# {primitive: {number of an argument: what lies at this address}}
_AT_ARGUMENT = {
    "load": {0: Use.ELEMENTS},
    "store": {0: Use.ELEMENTS | Use.WRITTEN},
    "add_shared": {0: Use.WORDS | Use.WRITTEN},
    "put_signal": {4: Use.WORDS},
    **{name: {1: Use.WORDS} for name in ("signal", "wait", "signal_all", "wait_all")},
    "copy": {0: Use.WRITTEN},
    "get": {1: Use.WRITTEN},
}


class Text:
    """The text of a plain function.  Raises OSError, TypeError or SyntaxError where it can't be read.

    callers: the functions whose texts led here
    """

    def __init__(self, function: FunctionType, callers: tuple[FunctionType, ...] = ()):
        self.function, self._callers = function, (*callers, function)
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
        ast.increment_lineno(tree, max(first, 1) - 1)
        self.nodes = [node for one in tree.body if isinstance(one, ast.FunctionDef) for node in ast.walk(one)]
        self._parameters = list(inspect.signature(function).parameters)
        self._set_to: dict[str, list[tuple[ast.expr, tuple[Any, ...]]]] = defaultdict(list)
        for node in self.nodes:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self._set(target, node.value)
            elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
                self._set(node.target, node.value)

    def _set(self, target: ast.expr, value: ast.expr, path: tuple[Any, ...] = ()) -> None:
        if isinstance(target, ast.Name):
            self._set_to[target.id].append((value, path))
        elif isinstance(target, ast.Tuple | ast.List):
            for i, part in enumerate(target.elts):
                self._set(part, value, (*path, i))

    def called(self, call: ast.Call) -> Any:
        """What a call by name calls, or None.  A jitted function is taken for the plain one."""
        if not isinstance(call.func, ast.Name):
            return None
        code, cells = self.function.__code__, self.function.__closure__ or ()
        inside = dict(zip(code.co_freevars, cells, strict=True)).get(call.func.id)
        value = inside.cell_contents if inside else self.function.__globals__.get(call.func.id)
        return getattr(value, "py_func", value)

    def calls(self) -> Iterator[tuple[ast.Call, Any]]:
        """The calls by name, and what they call."""
        return ((node, self.called(node)) for node in self.nodes if isinstance(node, ast.Call))

    def inside(self, function: Any) -> "Text | None":
        """The text of a plain function that this one calls; None where it can't be read."""
        if not isinstance(function, FunctionType) or hasattr(function, "primitive") or function in self._callers:
            return None
        try:
            return Text(function, self._callers)
        except (OSError, TypeError, SyntaxError):
            return None

    def argument(self, call: ast.Call, name: str) -> ast.expr | None:
        """What a call of this function passes for a parameter."""
        i = self._parameters.index(name)
        named = next((one.value for one in call.keywords if one.arg == name), None)
        return call.args[i] if i < len(call.args) else named

    def origins(self, node: ast.expr | None, path: tuple[Any, ...] = (), seen: tuple[Any, ...] = ()) -> set[Origin]:
        """The parameters from which an address comes.  path: the fields of ``node`` that lead to it"""
        match node:
            case ast.Name(id=name) if (name, path) not in seen:
                found = {(name, path)} if name in self._parameters else set()
                values = self._set_to.get(name, ())
                return found.union(*(self.origins(value, at + path, (*seen, (name, path))) for value, at in values))
            case ast.Attribute(value=value, attr=attribute):
                return self.origins(value, (attribute, *path), seen)
            case ast.Subscript(value=value, slice=ast.Constant(value=int(i))):
                return self.origins(value, (i, *path), seen)
            case ast.Tuple(elts=parts) if path and path[0] in range(len(parts)):
                return self.origins(parts[path[0]], path[1:], seen)
            case ast.BinOp(left=one, op=ast.Add() | ast.Sub(), right=other) if not path:
                return self.origins(one, path, seen) | self.origins(other, path, seen)
            case ast.IfExp(body=one, orelse=other):
                return self.origins(one, path, seen) | self.origins(other, path, seen)
            case ast.NamedExpr(value=value):
                return self.origins(value, path, seen)
            case ast.Call():
                return self._origins_of_result(node, path, seen)
        return set()

    def _origins_of_result(self, call: ast.Call, path: tuple[Any, ...], seen: tuple[Any, ...]) -> set[Origin]:
        callee = self.called(call)
        if path and isinstance(callee, type) and hasattr(callee, "_fields"):
            names = callee._fields
            given = {**dict(zip(names, call.args, strict=False)), **{one.arg: one.value for one in call.keywords}}
            name = names[path[0]] if path[0] in range(len(names)) else path[0]
            return self.origins(given.get(name), path[1:], seen)
        found: set[Origin] = set()
        if text := self.inside(callee):
            for node in text.nodes:
                for name, fields in text.origins(node.value, path) if isinstance(node, ast.Return) else ():
                    found |= self.origins(text.argument(call, name), fields, seen)
        return found

    def uses(self) -> dict[Origin, Use]:
        """What lies at the addresses that a call of this function passes."""
        found: dict[Origin, Use] = defaultdict(lambda: Use(0))
        for call, callee in self.calls():
            passed: list[tuple[ast.expr | None, tuple[Any, ...], Use]] = []
            if hasattr(callee, "primitive"):
                at = _AT_ARGUMENT.get(callee.__name__, {})
                passed = [(call.args[i], (), use) for i, use in at.items() if i < len(call.args)]
            elif text := self.inside(callee):
                passed = [(text.argument(call, name), path, use) for (name, path), use in text.uses().items()]
            for node, path, use in passed:
                for origin in self.origins(node, path):
                    found[origin] |= use
        return found


def uses_of(kernel: Callable[..., Any]) -> list[Use]:
    """For each of ``parameters`` of a kernel after ``ctx``, what lies at this address; 0: it is not known."""
    try:
        assert isinstance(kernel, FunctionType)
        found = Text(kernel).uses()
    except (OSError, TypeError, SyntaxError):
        found = {}
    of: list[Use] = []
    for name, record in list(records(kernel).items())[1:]:
        paths = [((field,), (i,)) for i, field in enumerate(record._fields)] if record else [((), ())]
        of += [found.get((name, by_name), Use(0)) | found.get((name, by_number), Use(0)) for by_name, by_number in paths]
    return of
