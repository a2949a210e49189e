"""A compiler's error as a KernelError: the user's line, the mistake, and below them the compiler's message."""

import os
import re
from collections.abc import Iterator
from traceback import walk_tb
from typing import Any

from ..errors import KernelError
from .bind import functions_reached
from .source import at_line

_COLOURS = r"\x1b\[[0-9;]*m"
_PLACE = re.compile(r'File "([^"\n]+)", line (\d+)|(?:at|from|location:) (\S+) \((\d+)\)')
_STEPS = re.compile(r"Failed in .* mode pipeline \(step: .*\)\n")
_NO_FUNCTION = re.compile(r"No implementation of function .* found for signature:\s*>>> (.*)")


def cannot_compile(function: Any, error: Exception) -> KernelError:
    """The KernelError for a compiler's error.  function: the kernel or formula that was compiled"""
    text = _STEPS.sub("", re.sub(_COLOURS, "", str(error))).strip()
    functions = {os.path.abspath(reached.__code__.co_filename): reached for reached in functions_reached(function)}
    for file, line in (*_places(text), *_lines_of_frames(error)):
        if place := functions.get(os.path.abspath(file)):
            return at_line(place, line, _sentences(text, file))
    return at_line(function, None, _sentences(text, ""))


def _places(text: str) -> Iterator[tuple[str, int]]:
    """The (file, line) pairs in a text of Numba, the innermost first."""
    for file, line, other_file, other_line in _PLACE.findall(text):
        yield file or other_file, int(line or other_line)


def _lines_of_frames(error: Exception) -> Iterator[tuple[str, int]]:
    """The (file, line) pairs that the parts of the compiler worked on, the innermost first."""
    for frame, _ in reversed(list(walk_tb(error.__traceback__))):
        line: Any = getattr(frame.f_locals.get("self"), "loc", None)
        if hasattr(line, "filename"):
            yield line.filename, line.line


def _sentences(text: str, file: str) -> str:
    """The mistake in one line; then the compiler's message up to its picture of the user's line."""
    if unknown := _NO_FUNCTION.match(text):
        first = f"the compiler knows no {unknown[1]}"
    else:
        first, _, text = text.partition("\n")
    picture = re.search(rf'File ".*{re.escape(os.path.basename(file))}", line \d+:\n(?:.*\n)*? *\^', text)
    below = text[: picture.end()] if picture else text.partition("\nDuring: ")[0]
    below = re.sub(r"During: .*\n", "", below)
    return f"{first}\n{below}".rstrip()
