"""The syntax tree of a function as text, which unlike bytecode is the same in all versions of Python."""

import ast
import linecache
from functools import lru_cache
from types import CodeType
from typing import Any

Place = tuple[str, int]  # the name of a function, and its first line
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def syntax_tree(code: CodeType, scope: dict[str, Any]) -> str | None:
    """The tree of what code was compiled from; None where its text is not known, or another one by now.

    scope: the globals of its function, which tell where the text of a module in an archive is
    """
    return _tree_in(code, "".join(linecache.getlines(code.co_filename, scope)))


@lru_cache(4096)
def _tree_in(code: CodeType, text: str) -> str | None:
    """The tree of code, if it is what this text of its file compiles to."""
    codes, trees = _functions(text)
    place = code.co_name, code.co_firstlineno
    proven = code in codes.get(place, ()) and len(trees.get(place, ())) == 1
    return _as_text(trees[place][0], "decorator_list") if proven else None


@lru_cache(256)
def _functions(text: str) -> tuple[dict[Place, list[CodeType]], dict[Place, list[ast.AST]]]:
    """The code of all functions of a text, and their trees."""
    codes: dict[Place, list[CodeType]] = {}
    trees: dict[Place, list[ast.AST]] = {}
    try:
        module = ast.parse(text)
        pending = [compile(module, "", "exec", dont_inherit=True)]
    except (SyntaxError, ValueError):
        return {}, {}
    for code in pending:  # the list grows meanwhile
        codes.setdefault((code.co_name, code.co_firstlineno), []).append(code)
        pending += [one for one in code.co_consts if isinstance(one, CodeType)]
    for node in ast.walk(module):
        if isinstance(node, _FUNCTIONS):
            line = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
            trees.setdefault((getattr(node, "name", "<lambda>"), line), []).append(node)
    return codes, trees


def _as_text(node: Any, *without: str) -> str:
    """A tree without what is empty, since each version of Python adds fields.  without: fields of its root"""
    if isinstance(node, list):
        return f"[{', '.join(map(_as_text, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = [(name, value) for name, value in ast.iter_fields(node) if name not in without]
    parts = [f"{name}={_as_text(value)}" for name, value in fields if not (value is None or value == [])]
    return f"{type(node).__name__}({', '.join(parts)})"
