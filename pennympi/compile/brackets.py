"""The text that replaces brackets on arrays, which are addresses in a kernel."""

import ast
import copy
from collections.abc import Callable
from typing import Any

_COLUMN = ast.Name("columns", ast.Load())


class Brackets(ast.NodeTransformer):
    """Writes ``load(y, i)`` for ``y[i]``, and ``store(y, i, value)`` for an assignment.

    accessors: {expression in front of brackets: names of the functions that read and write its elements, or None}
    """

    def __init__(self, accessors: Callable[[ast.expr], tuple[str, str] | None]):
        self._accessors = accessors

    def text(self, node: ast.AST) -> str:
        """A subscript or an assignment, as a kernel writes it."""
        return ast.unparse(ast.fix_missing_locations(self.visit(copy.deepcopy(node))))

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        self.generic_visit(node)
        names = self._accessors(node.value)
        return _call(names[0], node.value, _index(node.slice)) if names else node

    def visit_Assign(self, node: ast.Assign) -> Any:
        return self._stored(node.targets[0], node.value, node)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        old = copy.deepcopy(node.target)
        assert isinstance(old, ast.Subscript)
        old.ctx = ast.Load()
        return self._stored(node.target, ast.BinOp(old, node.op, node.value), node)

    def _stored(self, target: ast.expr, value: ast.expr, node: ast.stmt) -> Any:
        names = self._accessors(target.value) if isinstance(target, ast.Subscript) else None
        if not isinstance(target, ast.Subscript) or names is None:
            return node
        return ast.Expr(_call(names[1], target.value, _index(self.visit(target.slice)), self.visit(value)))


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _index(index: ast.expr) -> ast.expr:
    """The single index of an element."""
    if isinstance(index, ast.Tuple) and len(index.elts) == 2:
        return ast.BinOp(ast.BinOp(index.elts[0], ast.Mult(), _COLUMN), ast.Add(), index.elts[1])
    return ast.Name("i", ast.Load()) if isinstance(index, ast.Slice | ast.Tuple) else index
