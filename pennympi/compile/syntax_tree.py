"""The syntax tree of a function: unlike its bytecode, its text is the same in all versions of Python."""

import ast
import linecache
from functools import lru_cache
from types import CodeType
from typing import Any

Place = tuple[str, int, tuple[str, ...]]  # the name of a function, its first line and its parameters


def syntax_tree(code: CodeType, scope: dict[str, Any]) -> ast.FunctionDef | ast.Lambda | None:
    """The tree of the text from which code was compiled; None if the text is unknown or has changed.

    scope: globals of the function, which tell where the text of a module in an archive is
    """
    codes, trees = _functions("".join(linecache.getlines(code.co_filename, scope)))
    matches = trees.get(_place_of_code(code), ())
    return matches[0] if code in codes and len(matches) == 1 else None


def text_of_tree(code: CodeType, scope: dict[str, Any]) -> str | None:
    """The tree of ``syntax_tree`` as text."""
    return _as_text(tree, "decorator_list") if (tree := syntax_tree(code, scope)) else None


@lru_cache(256)
def _functions(text: str) -> tuple[set[CodeType], dict[Place, list[ast.FunctionDef | ast.Lambda]]]:
    """The code objects of all functions in a text, and {place: trees}."""
    try:
        module = ast.parse(text)
        codes = [compile(module, "", "exec", dont_inherit=True)]
    except (SyntaxError, ValueError):
        return set(), {}
    for code in codes:  # the loop appends to the list
        codes += [const for const in code.co_consts if isinstance(const, CodeType)]
    trees: dict[Place, list[ast.FunctionDef | ast.Lambda]] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            trees.setdefault(_place_of_tree(node), []).append(node)
    return set(codes), trees


def _place_of_code(code: CodeType) -> Place:
    return code.co_name, code.co_firstlineno, code.co_varnames[: code.co_argcount]


def _place_of_tree(node: ast.FunctionDef | ast.Lambda) -> Place:
    name, decorators = (node.name, node.decorator_list) if isinstance(node, ast.FunctionDef) else ("<lambda>", [])
    parameters = tuple(parameter.arg for parameter in (*node.args.posonlyargs, *node.args.args))
    return name, min(part.lineno for part in (node, *decorators)), parameters


def _as_text(node: Any, *without: str) -> str:
    """A tree as text, without empty fields, since each version of Python adds fields.  without: fields of its root"""
    if isinstance(node, list):
        return f"[{', '.join(map(_as_text, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = [(name, value) for name, value in ast.iter_fields(node) if name not in without]
    parts = [f"{name}={_as_text(value)}" for name, value in fields if not (value is None or value == [])]
    return f"{type(node).__name__}({', '.join(parts)})"
