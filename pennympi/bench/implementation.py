"""The implementations that are measured: this library with an algorithm, or another library."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..arrays.dtypes import DType
from ..team import Team
from .cases import Case

Call = Callable[[Any], object]  # takes the stream, None on the host
Memory = tuple[Any, Any]  # a source and a target, (nbytes,) uint8 each; implementations may share one


def array_module(team: Team) -> Any:
    """The module of the team's arrays: numpy or cupy."""
    return import_module("numpy" if team.backend == "host" else "cupy")


def plain(team: Team, nbytes: int) -> Memory:
    """Buffers allocated by NumPy or CuPy."""
    xp = array_module(team)
    return xp.zeros(nbytes, "uint8"), xp.zeros(nbytes, "uint8")


def symmetric(team: Team, nbytes: int) -> Memory:
    """Buffers in the team's symmetric heap.  Collective."""
    return team.zeros(nbytes, "uint8"), team.zeros(nbytes, "uint8")


class Implementation:
    """A library, or an algorithm of this library.

    name:      name in tables;  version: version of the library, as text
    on_device: calls are asynchronous and run in a stream
    """

    name: str
    version: str
    memory: Memory
    on_device = True

    def why_not(self, case: Case, dtype: DType, op: str) -> str:
        """The reason why it can't run this case with this dtype and op, or ""."""
        return ""

    def has(self, case: Case, in_place: bool) -> bool:
        """Whether it has the in-place form of the case, or (not in_place) the out-of-place form."""
        return True

    def call(self, case: Case, source: Any, target: Any, op: str, root: int) -> Call:
        """The operation on these arrays, ready to be called.  target: source for in place.  Raises ValueError."""
        raise NotImplementedError
