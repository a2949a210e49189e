"""Where in the user's files something was called."""

import os
import sys
from types import FrameType

_LIBRARY = os.path.dirname(os.path.dirname(__file__)) + os.sep
UNKNOWN = 0


class Lines:
    """Lines of programs and kernels, and their numbers."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, int, str], int] = {("", 0, ""): UNKNOWN}
        self._places = [("", 0, "")]

    def number(self, place: tuple[str, int, str]) -> int:
        """The number of a place."""
        found = self._numbers.get(place)
        if found is None:
            found = self._numbers[place] = len(self._places)
            self._places.append(place)
        return found

    def here(self) -> int:
        """The innermost line that runs and is not of the library."""
        return self.of(sys._getframe(3))  # three functions of the library are above it at least

    def of(self, frame: FrameType | None) -> int:
        """The innermost line of a frame, and of those below it, that is not of the library."""
        while frame is not None:
            if not is_library(frame.f_code.co_filename):
                return self.number((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
            frame = frame.f_back
        return UNKNOWN

    def text(self, number: int) -> str:
        """Such as "exchange.py:12 (in halo)"."""
        filename, line, within = self._places[number]
        return f"{shortened(filename)}:{line} ({within})" if filename else "the library"


_known: dict[str, bool] = {}


def is_library(filename: str) -> bool:
    """Whether a file is one of the library, or of what runs it."""
    found = _known.get(filename)
    if found is None:
        inside = os.path.realpath(filename).startswith(_ROOTS) or filename.startswith("<frozen")
        found = _known[filename] = inside
    return found


_ROOTS = tuple(
    os.path.realpath(one) + os.sep for one in (_LIBRARY, os.path.join(_LIBRARY, "kernels"), os.path.dirname(os.__file__))
)


def shortened(filename: str) -> str:
    """A path as the user would write it."""
    relative = os.path.relpath(filename)
    return filename if relative.startswith("..") else relative
