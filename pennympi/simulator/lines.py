"""The lines of the user's files at which calls are made."""

import os
import sys
from functools import cache
from types import FrameType

UNKNOWN = 0
_LIBRARY = os.path.dirname(os.path.dirname(__file__))
_FOLDERS = (_LIBRARY, os.path.join(_LIBRARY, "kernels"), os.path.dirname(os.__file__))
_ROOTS = tuple(os.path.realpath(folder) + os.sep for folder in _FOLDERS)


class Lines:
    """Lines of programs and kernels, and their numbers."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, int, str], int] = {("", 0, ""): UNKNOWN}  # {(file, line, function): number}

    def current(self) -> int:
        """The innermost running line that is not in the library."""
        return self.of(sys._getframe(3))  # at least three functions of the library are above it

    def of(self, frame: FrameType | None) -> int:
        """The innermost line outside the library, in a frame or in its callers."""
        while frame is not None:
            if not is_library(frame.f_code.co_filename):
                place = frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
                return self._numbers.setdefault(place, len(self._numbers))
            frame = frame.f_back
        return UNKNOWN

    def text(self, number: int) -> str:
        """A text such as "exchange.py:12 (in halo)"."""
        filename, line, within = list(self._numbers)[number]
        return f"{shortened(filename)}:{line} ({within})" if filename else "the library"


@cache
def is_library(filename: str) -> bool:
    """Whether a file belongs to the library, or to Python."""
    return os.path.realpath(filename).startswith(_ROOTS) or filename.startswith("<frozen")


def shortened(filename: str) -> str:
    """A path relative to the current folder, if it is in the folder."""
    relative = os.path.relpath(filename)
    return filename if relative.startswith("..") else relative
