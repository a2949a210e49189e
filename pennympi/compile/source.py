"""The text of a function as a tree, and the code object of such a tree."""

import ast
import inspect
import linecache
import textwrap
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any


class StaticError(TypeError):
    """A static loop or parameter depends on what is not known when the kernel is compiled."""


def place(function: Any, line: int | None = None) -> str:
    """ "file:line" of a function, or of a line in it."""
    return f"{function.__code__.co_filename}:{line or function.__code__.co_firstlineno}"


def tree_of(function: FunctionType) -> ast.FunctionDef:
    """The tree of a function's text, without its decorators.  Raises StaticError where the text is not to be had."""
    code = function.__code__
    try:
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    except (OSError, SyntaxError):
        raise StaticError(f"{place(function)}: a static loop needs the text of its function, in a file or cell") from None
    if not isinstance(tree, ast.FunctionDef):
        raise StaticError(f"{place(function)}: a static loop must be in a function that def makes")
    ast.increment_lineno(tree, code.co_firstlineno - 1)
    tree.decorator_list = []
    lines = "".join(linecache.getlines(code.co_filename, function.__globals__))
    if code not in _codes(lines):
        raise StaticError(f"{place(function)}: the file has changed since it was imported; start the program again")
    return tree


@lru_cache(64)
def _codes(text: str) -> tuple[CodeType, ...]:
    """All code objects of a file or cell: a function alone is compiled otherwise where it calls what a module imports."""
    codes = [compile(text, "", "exec", dont_inherit=True)]
    for code in codes:  # the list grows meanwhile
        codes += [const for const in code.co_consts if isinstance(const, CodeType)]
    return tuple(codes)


def code_of(tree: ast.FunctionDef, cells: tuple[str, ...], original: CodeType) -> CodeType:
    """The code object of a function nested in one with the variables ``cells``.  original: whose name it gets"""
    nested = ast.FunctionDef(**vars(tree) | {"name": "function_"})  # the own name may be a global that it calls
    maker = ast.parse(f"def make({', '.join(cells)}): pass")
    assert isinstance(maker.body[0], ast.FunctionDef)
    maker.body[0].body = [nested]
    module = compile(ast.fix_missing_locations(maker), original.co_filename, "exec", dont_inherit=True)
    outer = next(const for const in module.co_consts if isinstance(const, CodeType))
    inner = next(const for const in outer.co_consts if isinstance(const, CodeType) and const.co_name == nested.name)
    return inner.replace(co_name=original.co_name, co_qualname=original.co_qualname)
