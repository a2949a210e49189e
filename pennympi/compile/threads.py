"""All threads of a block call most primitives together, so they may not stand where a thread runs alone."""

import ast
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ..kernels import block
from .bind import primitives_reached

BY_ONE_THREAD = {
    "add_shared", "bits", "block", "blocks", "is_leader", "lanes", "load", "multiply_add", "product", "read_epoch",
    "read_peer", "real", "single_thread", "store",
}  # fmt: skip


def misplaced(tree: ast.AST, value_of: Callable[[ast.expr], Any]) -> tuple[ast.Call, str] | None:
    """The first call in a loop over lanes, or under `if is_leader()`, that all threads of the block must make; and why.

    value_of: the value of an expression, where it is known
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.For) and _is_call_of(node.iter, "lanes", value_of):
            where = "the loop over lanes"
        elif isinstance(node, ast.If) and _is_call_of(node.test, "is_leader", value_of):
            where = "if is_leader()"
        else:
            continue
        for call in (part for line in node.body for part in ast.walk(line) if isinstance(part, ast.Call)):
            if together := _together(value_of(call.func)):
                return call, f"all threads of the block call {together}() together: call it outside {where}"
    return None


def _is_call_of(node: ast.expr, name: str, value_of: Callable[[ast.expr], Any]) -> bool:
    return isinstance(node, ast.Call) and value_of(node.func) is getattr(block, name)


def _together(called: Any) -> str:
    """A primitive that all threads must call together: the function itself, or one that it calls; "" if there is none."""
    if hasattr(called, "is_primitive"):
        names = {called.__name__}
    else:
        names = primitives_reached(called) if isinstance(called, FunctionType) else set()
    return min(names - BY_ONE_THREAD, default="")
