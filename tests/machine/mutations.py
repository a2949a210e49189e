"""Faults that are planted in a text: its syntax tree with one thing changed.

A mutation is an operator that ``mutated`` applies to the text of a row, or to a plain function that the text calls.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any

PARITIES = {1: 0, 3: 1}  # of a mask: how many places messages take in turn
WAITS, SENDS = ("wait", "wait_all", "meet_multicast"), ("put", "put_signal", "signal", "signal_all", "send_packets")


@dataclass(frozen=True)
class Mutation:
    """One change.  kind: see ``KINDS``;  name: of the primitive;  at: which of its calls, in the order of the text
    helper: the plain function that is changed, "" for the text itself"""

    kind: str
    name: str = ""
    at: int = 0
    helper: str = ""

    def __str__(self) -> str:
        where = f" in {self.helper}" if self.helper else ""
        return f"{self.kind} {self.name} {self.at}{where}" if self.name else f"{self.kind}{where}"


class Change(ast.NodeTransformer):
    """Applies a mutation; ``done`` says whether the text had what it changes."""

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
        if self.mutation.kind == "one parity" and (
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


def changed(text: FunctionType, mutation: Mutation) -> FunctionType | None:
    """A clone of a plain function with the mutation, or None if it has nothing to change."""
    from pennympi.kernels import block

    change = Change(mutation)
    tree = change.visit(ast.parse(textwrap.dedent(inspect.getsource(text))))
    if not change.done:
        return None
    names = {**text.__globals__, "put": block.put, "signal": block.signal}
    made: dict[str, Any] = {}
    exec(compile(ast.fix_missing_locations(tree), f"<{text.__name__}: {mutation}>", "exec"), names, made)
    return made[text.__name__]


def mutated(row: Any, mutation: Mutation, part: str = "kernel") -> Any:
    """The row with the mutation in its text, or None.  part: "meet" for the text that ends a call."""
    text = getattr(row, part)
    if not mutation.helper:
        clone = changed(text, mutation)
    else:
        helper = changed(text.__globals__[mutation.helper], mutation)
        clone = helper and FunctionType(text.__code__, {**text.__globals__, mutation.helper: helper}, text.__name__)
    return clone and replace(row, **{part: clone})


def every(row: Any, part: str = "kernel") -> Iterator[tuple[Mutation, Any]]:
    """All single mutations of a row, and the row with each."""
    text = getattr(row, part)
    helpers = [name for name in text.__code__.co_names if type(text.__globals__.get(name)) is FunctionType]
    plain = [name for name in helpers if not hasattr(text.__globals__[name], "primitive")]
    kinds = [("drop", name) for name in (*WAITS, *SENDS, "fence", "write_epoch", "copy", "finish")]
    kinds += [("early", name) for name in ("wait", "wait_all", "meet_multicast")]
    kinds += [(kind, "put_signal") for kind in ("signal first", "apart", "beside")]
    kinds += [("beside", "put"), ("beside", "send_packets"), ("one parity", "")]
    for helper in ("", *plain):
        for kind, name in kinds:
            for at in range(9):
                one = mutated(row, Mutation(kind, name, at, helper), part)
                if one is None:
                    break
                yield Mutation(kind, name, at, helper), one
                if not name:
                    break
