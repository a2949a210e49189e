"""Where a contestant's buffers lie."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..team import Team

Allocate = Callable[[int], Any]  # bytes -> array of uint8, (bytes,)


@dataclass
class Memory:
    """A source and a target of bytes, allocated when first asked for; contestants may share one."""

    allocate: Allocate
    nbytes: int = 0
    source: Any = None
    target: Any = None

    def grow(self, nbytes: int) -> None:
        """Make both at least so large.  Collective for some allocators."""
        if nbytes > self.nbytes:
            self.nbytes = nbytes
            self.source, self.target = self.allocate(nbytes), self.allocate(nbytes)


def array_module(team: Team) -> Any:
    """numpy or cupy."""
    if team.backend == "host":
        import numpy

        return numpy
    import cupy

    return cupy


def plain(team: Team) -> Memory:
    """The device's usual memory, as NumPy's or CuPy's arrays have it."""
    xp = array_module(team)
    return Memory(lambda nbytes: xp.zeros(nbytes, "uint8"))


def symmetric(team: Team) -> Memory:
    """The team's symmetric heap.  Collective."""
    return Memory(lambda nbytes: team.zeros(nbytes, "uint8"))
