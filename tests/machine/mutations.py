"""Faults that are planted in a kernel: one change in its syntax tree.

``plant`` applies a mutation to a kernel, or to a plain function that the kernel calls directly or indirectly.
"""

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from pennympi.compile.reads import globals_read
from pennympi.kernels import block
from pennympi.kernels.records import Message

PARITIES = {1: 0, 3: 1}  # mask of an epoch -> the mask for half as many buffers


@dataclass(frozen=True)
class Mutation:
    """One change.  kind: see ``KINDS``;  name: name of a primitive;  at: index of its call, in the order of the source
    helper: the plain function that changes; "" for the kernel itself, and for "one buffer" also all that it calls"""

    kind: str
    name: str = ""
    at: int = 0
    helper: str = ""

    def __str__(self) -> str:
        where = f" in {self.helper}" if self.helper else ""
        return f"{self.kind} {self.name} {self.at}{where}" if self.name else f"{self.kind}{where}"


class Change(ast.NodeTransformer):
    """Applies a mutation; ``done`` says whether the function had a place for it."""

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
    return ast.copy_location(ast.Pass(), node)


def early(node: ast.Expr, call: ast.Call) -> Any:
    """Wait for the epoch before the right epoch."""
    call.args[2] = ast.BinOp(call.args[2], ast.Sub(), ast.Constant(1))
    return node


def signal_first(node: ast.Expr, call: ast.Call) -> Any:
    """Send the signal of a put_signal before its put."""
    ctx, message, word, value = call.args
    fields: list[ast.expr] = [ast.Attribute(message, name, ast.Load()) for name in Message._fields]
    tell = ast.Call(ast.Name("signal", ast.Load()), [ctx, word, value, fields[-1]], [])
    put = ast.Call(ast.Name("put", ast.Load()), [ctx, *fields], [])
    return [ast.copy_location(ast.Expr(one), node) for one in (tell, put)]


def apart(node: ast.Expr, call: ast.Call) -> Any:
    """Send a put and a signal without a fence between them, in place of a put_signal."""
    return list(reversed(signal_first(node, call)))


def displaced(node: ast.Expr, call: ast.Call) -> Any:
    """Send the message to 16 elements of 4 bytes after its place."""
    message = call.args[1]
    dst = ast.BinOp(ast.Attribute(message, "dst", ast.Load()), ast.Add(), ast.Constant(64))
    call.args[1] = ast.Call(ast.Attribute(message, "_replace", ast.Load()), [], [ast.keyword("dst", dst)])
    return node


KINDS: dict[str, Callable[[ast.Expr, ast.Call], Any]] = {
    "drop": drop,
    "early": early,
    "signal first": signal_first,
    "apart": apart,
    "beside": displaced,
}


def changed(function: FunctionType, mutation: Mutation) -> FunctionType | None:
    """The function with the mutation, among the same globals, or None if the function has no place for it."""
    change = Change(mutation)
    tree = change.visit(ast.parse(textwrap.dedent(inspect.getsource(function))))
    made: dict[str, Any] = {}
    exec(
        compile(ast.fix_missing_locations(tree), f"<{function.__name__}: {mutation}>", "exec"), function.__globals__, made
    )
    return made[function.__name__] if change.done else None


def helpers(function: FunctionType) -> dict[str, FunctionType]:
    """The plain functions that a function calls, directly or indirectly, by name."""
    found: dict[str, FunctionType] = {}
    for (name, *_), value in globals_read(function).items():
        if type(value) is FunctionType and not hasattr(value, "is_primitive"):
            found |= {name: value} | helpers(value)
    return found


def replaced(patch: Any, kernel: FunctionType, name: str, replacement: Any) -> None:
    """Let the kernel and its helpers call another function in place of a helper.  patch: pytest's monkeypatch"""
    function = helpers(kernel)[name]
    for module in [one for name, one in sys.modules.items() if name.startswith("pennympi.kernels")]:
        for key, value in list(vars(module).items()):
            if value is function:
                patch.setattr(module, key, replacement)


def plant(patch: Any, kernel: FunctionType, mutation: Mutation) -> FunctionType:
    """Change the helpers that the mutation names, and return the kernel, itself changed if the mutation says so."""
    every = {"": kernel} | helpers(kernel)
    names = [*every] if mutation.kind == "one buffer" and not mutation.helper else [mutation.helper]
    found = {name: clone for name in names if (clone := changed(every[name], mutation))}
    assert found, f"{kernel.__name__} has nothing to change: {mutation}"
    for name, clone in found.items():
        patch.setitem(clone.__globals__, "put", block.put)
        patch.setitem(clone.__globals__, "signal", block.signal)
        if name:
            replaced(patch, kernel, name, clone)
    return found.get("", kernel)
