"""The text of a function as a tree, and the code object of such a tree."""

import ast
import copy
import os
from types import CodeType, FunctionType
from typing import Any

from ..errors import KernelError
from .syntax_tree import syntax_tree


class StaticError(TypeError):
    """A static loop or parameter depends on a value that is not known when the kernel is compiled."""


def place(function: Any, line: int | None = None) -> str:
    """The place of a function, or of a line in it: "file:line", relative to the current folder."""
    return f"{function.__code__.co_filename.removeprefix(_folder())}:{line or function.__code__.co_firstlineno}"


def _folder() -> str:
    try:
        return os.path.join(os.getcwd(), "")
    except OSError:  # the current folder was removed
        return ""


def at_line(function: Any, line: int | None, what: str) -> KernelError:
    """The error for a mistake in a line of a function.  what: the message"""
    return KernelError(f"{place(function, line)}: {what}")


def tree_of(function: FunctionType, what: str = "a static loop") -> ast.FunctionDef:
    """The tree of a function's text, without its decorators.  Raises StaticError if the text can't be read.

    what: subject of the message, which needs the text
    """
    tree = copy.deepcopy(syntax_tree(function.__code__, function.__globals__))
    if isinstance(tree, ast.FunctionDef):
        tree.decorator_list = []
        return tree
    why = (
        "must be in a function that def makes" if tree else "needs the text of its function, which has not changed since"
    )
    raise StaticError(f"{place(function)}: {what} {why}")


def code_of(tree: ast.FunctionDef, cells: tuple[str, ...], original: CodeType) -> CodeType:
    """The code object of a function nested in a function with the variables ``cells``, with the name of ``original``."""
    nested = ast.FunctionDef(**vars(tree) | {"name": "function_"})  # its own name may be a global that it calls
    maker = ast.parse(f"def make({', '.join(cells)}): pass")
    assert isinstance(maker.body[0], ast.FunctionDef)
    maker.body[0].body = [nested]
    module = compile(ast.fix_missing_locations(maker), original.co_filename, "exec", dont_inherit=True)
    outer = next(const for const in module.co_consts if isinstance(const, CodeType))
    inner = next(const for const in outer.co_consts if isinstance(const, CodeType) and const.co_name == nested.name)
    return inner.replace(co_name=original.co_name, co_qualname=original.co_qualname)
