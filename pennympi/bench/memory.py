"""The buffers of an implementation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..team import Team

Allocate = Callable[[int], Any]  # bytes -> array of uint8, (bytes,)


@dataclass
class Memory:
    """A source and a target, (nbytes,) uint8 each, allocated by ``grow``.  Implementations may share one Memory."""

    allocate: Allocate
    nbytes: int = 0
    source: Any = None
    target: Any = None

    def grow(self, nbytes: int) -> None:
        """Make both at least ``nbytes`` large.  Collective if the allocator is."""
        if nbytes > self.nbytes:
            self.nbytes = nbytes
            self.source, self.target = self.allocate(nbytes), self.allocate(nbytes)


def array_module(team: Team) -> Any:
    """The module of the team's arrays: numpy or cupy."""
    if team.backend == "host":
        import numpy

        return numpy
    import cupy

    return cupy


def plain(team: Team) -> Memory:
    """Buffers allocated by NumPy or CuPy."""
    xp = array_module(team)
    return Memory(lambda nbytes: xp.zeros(nbytes, "uint8"))


def symmetric(team: Team) -> Memory:
    """Buffers in the team's symmetric heap, whose ``grow`` is collective."""
    return Memory(lambda nbytes: team.zeros(nbytes, "uint8"))
