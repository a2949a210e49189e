"""Whether a function returns a value on every path, determined from its syntax tree."""

import ast
from types import FunctionType

from .known import UNKNOWN, Known


def always_returns(function: FunctionType, tree: ast.FunctionDef) -> bool:
    """Whether every path ends in a return with a value."""
    returned = [node for node in _inside(tree) if isinstance(node, ast.Return)]
    return all(node.value is not None for node in returned) and _ends(tree.body, Known(function, tree, {}))


def _ends(body: list[ast.stmt], known: Known) -> bool:
    """Whether a list of statements always ends in a return."""
    return any(_leaves(line, known) for line in body)


def _leaves(line: ast.stmt, known: Known) -> bool:
    """Whether a statement always ends in a return."""
    if isinstance(line, ast.Return | ast.Raise):
        return True
    if isinstance(line, ast.While):
        return known.value(line.test) is True
    if isinstance(line, ast.Match):
        return _is_complete(line) and all(_ends(case.body, known) for case in line.cases)
    if not isinstance(line, ast.If):
        return False
    chosen = known.value(line.test)
    if chosen is UNKNOWN:
        return _ends(line.body, known) and _ends(line.orelse, known)
    return _ends(line.body if chosen else line.orelse, known)


def _inside(tree: ast.AST) -> list[ast.AST]:
    """The nodes of a function, without the nodes of nested functions."""
    nodes = list(ast.iter_child_nodes(tree))
    for node in nodes:  # the loop appends to the list
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            nodes += ast.iter_child_nodes(node)
    return nodes


def _is_complete(node: ast.Match) -> bool:
    last = node.cases[-1]
    return last.guard is None and isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
