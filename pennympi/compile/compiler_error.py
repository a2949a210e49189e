"""A compiler's error as the user's line, what is wrong there, and below it the compiler's words about that line."""

import os
import re
from collections.abc import Iterator
from traceback import walk_tb
from types import FunctionType
from typing import Any

from ..errors import KernelError
from .bind import helpers
from .source import at_line

_COLOURS = r"\x1b\[[0-9;]*m"
_PLACE = re.compile(r'File "([^"\n]+)", line (\d+)|(?:at|from|location:) (\S+) \((\d+)\)')
_STEPS = re.compile(r"Failed in .* mode pipeline \(step: .*\)\n")
_NO_FUNCTION = re.compile(r"No implementation of function .* found for signature:\s*>>> (.*)")


def cannot_compile(function: Any, error: Exception) -> KernelError:
    """The error to raise for a compiler's.  function: the kernel or formula that it was compiling"""
    text = _STEPS.sub("", re.sub(_COLOURS, "", str(error))).strip()
    own = {os.path.abspath(one.__code__.co_filename): one for one in _reached(function)}
    for file, line in (*_places(text), *_lines_of_frames(error)):
        if found := own.get(os.path.abspath(file)):
            return at_line(found, line, _sentences(text, file))
    return at_line(function, None, _sentences(text, ""))


def _reached(function: Any) -> list[FunctionType]:
    """A function, and the functions that it calls."""
    found = [function]
    for one in found:  # the list grows meanwhile
        found += [helper for helper in helpers(one) if helper not in found]
    return found


def _places(text: str) -> Iterator[tuple[str, int]]:
    """The (file, line) of a text of Numba, the innermost first."""
    for file, line, other_file, other_line in _PLACE.findall(text):
        yield file or other_file, int(line or other_line)


def _lines_of_frames(error: Exception) -> Iterator[tuple[str, int]]:
    """The (file, line) that the parts of the compiler were at."""
    for frame, _ in reversed(list(walk_tb(error.__traceback__))):
        line: Any = getattr(frame.f_locals.get("self"), "loc", None)
        if hasattr(line, "filename"):
            yield line.filename, line.line


def _sentences(text: str, file: str) -> str:
    """What is wrong in one line; then the compiler's words up to its picture of the user's line."""
    if found := _NO_FUNCTION.match(text):
        first = f"the compiler knows no {found[1]}"
    else:
        first, _, text = text.partition("\n")
    picture = re.search(rf'File ".*{re.escape(os.path.basename(file))}", line \d+:\n(?:.*\n)*? *\^', text)
    below = text[: picture.end()] if picture else text.partition("\nDuring: ")[0]
    below = re.sub(r"During: .*\n", "", below)
    return f"{first}\n{below}".rstrip()
