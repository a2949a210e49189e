"""Faults that are planted in a kernel: its syntax tree with one thing changed.

``mutated`` applies a mutation to the kernel of an algorithm, or to a plain function that the kernel calls, directly or
through another function.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any

from pennympi.compile.bind import globals_read

PARITIES = {1: 0, 3: 1}  # of a mask: how many places messages take in turn


@dataclass(frozen=True)
class Mutation:
    """One change.  kind: see ``KINDS``;  name: of the primitive;  at: which of its calls, in the order of the source
    helper: the plain function that is changed; "" for the kernel itself, and for "one buffer" also all that it calls"""

    kind: str
    name: str = ""
    at: int = 0
    helper: str = ""

    def __str__(self) -> str:
        where = f" in {self.helper}" if self.helper else ""
        return f"{self.kind} {self.name} {self.at}{where}" if self.name else f"{self.kind}{where}"


class Change(ast.NodeTransformer):
    """Applies a mutation; ``done`` says whether the function had what it changes."""

    def __init__(self, mutation: Mutation):
        self.mutation, self.seen, self.done = mutation, 0, False

    def visit_Expr(self, node: ast.Expr) -> Any:
        call = node.value
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == self.mutation.name):
            return self.generic_visit(node)
        self.seen += 1
        if self.seen - 1 != self.mutation.at:
            return self.generic_visit(node)
        self.done = True
        return KINDS[self.mutation.kind](node, call)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        constant = node.right.value if isinstance(node.right, ast.Constant) else None
        if self.mutation.kind == "one buffer" and (
            (isinstance(node.op, ast.BitAnd) and constant in PARITIES) or (isinstance(node.op, ast.Mod) and constant == 2)
        ):
            self.done = True
            node.op, node.right = ast.BitAnd(), ast.Constant(PARITIES.get(constant if constant != 2 else 1, 0))
        return node


def drop(node: ast.Expr, call: ast.Call) -> Any:
    """The call is left out."""
    return ast.copy_location(ast.Pass(), node)


def early(node: ast.Expr, call: ast.Call) -> Any:
    """It waits for the epoch before, or tells the epoch after."""
    call.args[2] = ast.BinOp(call.args[2], ast.Sub(), ast.Constant(1))
    return node


def signal_first(node: ast.Expr, call: ast.Call) -> Any:
    """The signal of a put_signal before its put."""
    ctx, dst, src, nbytes, word, value, pe = call.args
    tell = ast.Call(ast.Name("signal", ast.Load()), [ctx, word, value, pe], [])
    put = ast.Call(ast.Name("put", ast.Load()), [ctx, dst, src, nbytes, pe], [])
    return [ast.copy_location(ast.Expr(one), node) for one in (tell, put)]


def apart(node: ast.Expr, call: ast.Call) -> Any:
    """A put and a signal without a fence between them, in place of a put_signal."""
    return list(reversed(signal_first(node, call)))


def beside(node: ast.Expr, call: ast.Call) -> Any:
    """The message goes 16 elements of 4 bytes beside its place."""
    call.args[1] = ast.BinOp(call.args[1], ast.Add(), ast.Constant(64))
    return node


KINDS: dict[str, Callable[[ast.Expr, ast.Call], Any]] = {
    "drop": drop,
    "early": early,
    "signal first": signal_first,
    "apart": apart,
    "beside": beside,
}


def changed(function: FunctionType, mutation: Mutation) -> FunctionType | None:
    """A clone of a plain function with the mutation, or None if it has nothing to change."""
    from pennympi.kernels import block

    change = Change(mutation)
    tree = change.visit(ast.parse(textwrap.dedent(inspect.getsource(function))))
    if not change.done:
        return None
    names = {**function.__globals__, "put": block.put, "signal": block.signal}
    made: dict[str, Any] = {}
    exec(compile(ast.fix_missing_locations(tree), f"<{function.__name__}: {mutation}>", "exec"), names, made)
    return made[function.__name__]


def helpers(function: FunctionType) -> dict[str, FunctionType]:
    """The plain functions that a function calls, and that these call, by name."""
    found: dict[str, FunctionType] = {}
    for name in globals_read(function):
        value = function.__globals__.get(name)
        if type(value) is FunctionType and not hasattr(value, "primitive"):
            found |= {name: value} | helpers(value)
    return found


def planted(function: FunctionType, clones: Mapping[str, FunctionType]) -> FunctionType:
    """A clone of a function that calls ``clones``, by their names, wherever it or a helper of it calls these names."""
    below = {name: planted(clones.get(name, one), clones) for name, one in helpers(function).items()}
    names = {**function.__globals__, **below}
    clone = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
    clone.__annotations__ = function.__annotations__
    return clone


def mutated(algorithm: Any, mutation: Mutation, part: str = "kernel") -> Any:
    """The algorithm with the mutation in its kernel, or None.  part: "meet" for the kernel that ends a call."""
    kernel = getattr(algorithm, part)
    everywhere = {mutation.helper: helpers(kernel)[mutation.helper]} if mutation.helper else {"": kernel}
    if mutation.kind == "one buffer" and not mutation.helper:
        everywhere |= helpers(kernel)
    clones = {name: changed(one, mutation) for name, one in everywhere.items()}
    found = {name: clone for name, clone in clones.items() if clone}
    return replace(algorithm, **{part: planted(found.get("", kernel), found)}) if found else None
