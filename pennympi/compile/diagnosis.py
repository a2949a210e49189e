"""Why a kernel of an application can't be compiled, in one sentence instead of a compiler's traceback."""

import ast
import builtins
import inspect
import os
import re
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

from .bind import globals_read, records
from .kernel_text import Text

RULE = "in a kernel an array is the address of its first element, read by load(x, i) and written by store(y, i, value)"
_OWN_FILES = os.path.dirname(os.path.dirname(__file__)) + os.sep


def cannot_compile(kernel: FunctionType, error: Exception) -> TypeError:
    """The error to raise for what a compiler, or ``bind``, raised."""
    try:
        at, said = next(_mistakes(Text(kernel)), None) or _as_told(error)
    except (OSError, TypeError, SyntaxError):  # there is no text
        at, said = _as_told(error)
    at = at or f" at {kernel.__code__.co_filename}:{kernel.__code__.co_firstlineno}"  # a compiler may not say where
    return TypeError(f"kernel {kernel.__name__} can't be compiled{at}: {said}; {RULE}")


def _mistakes(text: Text) -> Iterator[tuple[str, str]]:
    """(where, what) of each known mistake in the text of a function and in those of the functions that it calls."""
    function = text.function
    for node in text.nodes:
        said = ""
        if isinstance(node, ast.Name) and node.id in globals_read(function):
            known = node.id in function.__globals__ or hasattr(builtins, node.id)
            said = "" if known else f"the name {node.id} is not defined"
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = function.__globals__.get(node.value.id)
            if isinstance(module, ModuleType) and hasattr(getattr(module, node.attr, None), "primitive"):
                said = f"{ast.unparse(node)} is known by its bare name only: from {module.__name__} import {node.attr}"
        elif isinstance(node, ast.Call):
            said = _wrong_arguments(node, text.called(node))
        elif isinstance(node, ast.Subscript):
            numbers = [name for name, path in text.origins(node.value) if path or records(function)[name] is None]
            said = f"{ast.unparse(node)} takes a number for an array" if numbers else ""
        if said:
            yield f" at {function.__code__.co_filename}:{getattr(node, 'lineno', 0)}", said
    for callee in dict.fromkeys(callee for _, callee in text.calls() if isinstance(callee, FunctionType)):
        if inside := text.inside(callee):
            yield from _mistakes(inside)


def _wrong_arguments(call: ast.Call, callee: Callable[..., Any] | None) -> str:
    """What is wrong with the number or the names of a call's arguments, or ""."""
    if not isinstance(callee, FunctionType) or any(isinstance(one, ast.Starred) for one in call.args):
        return ""
    signature = inspect.signature(callee)
    try:
        signature.bind(*call.args, **{one.arg: one.value for one in call.keywords if one.arg})
    except TypeError as error:
        return f"{ast.unparse(call)} calls {callee.__name__}({', '.join(signature.parameters)}), {error}"
    return ""


def _as_told(error: Exception) -> tuple[str, str]:
    """(where, what) in the words of the error: of Numba's, which has many lines, the one that says what is wrong."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))  # Numba's colours
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [type(error).__name__]
    told = [line for line in lines if not line.startswith("Failed in ")] or lines
    said = told[0]
    if said.endswith(":") and told[1:]:
        said = f"{said} {told[1].removeprefix('>>>').strip()}"
    places = re.findall(r'File "(.+?)", line (\d+)', text)
    at = next((f" at {file}:{line}" for file, line in places if not os.path.abspath(file).startswith(_OWN_FILES)), "")
    return at, said.rstrip(".;:")
