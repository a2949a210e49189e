"""A team of one PE inside a larger one, with everything that a variant needs of a team, and nothing collective."""

from collections.abc import Callable
from typing import Any

from mpi4py import MPI

from ...program.device import array_module


class OnePeTeam:
    """Replaces the team while PE 0 solves the problem alone.  Its arrays are ordinary ones."""

    me, n_pes = 0, 1

    def __init__(self, team: Any):
        self._team, self._xp = team, array_module(team)
        self.backend, self.comm = team.backend, MPI.COMM_SELF
        self.kernel, self.stream, self.synchronize = team.kernel, team.stream, team.synchronize

    def zeros(self, shape: Any, dtype: Any) -> Any:
        """An array of zeros, on the device."""
        return self._xp.zeros(shape, dtype)

    def signals(self, n: int) -> Any:
        """n signal words: (n,) uint64."""
        return self._xp.zeros(n, "uint64")

    def free(self, x: Any) -> None:
        """Nothing to do: Python frees the array."""

    def barrier(self, stream: Any = None) -> None:
        """Nothing to do: there is no other PE."""

    def put(self, dst: Any, src: Any, pe: int, stream: Any = None) -> None:
        """dst = src"""
        with stream:
            dst[...] = src

    def put_signal(self, dst: Any, src: Any, signal: Any, value: int, pe: int, stream: Any = None) -> None:
        """dst = src; no wait looks at the signal"""
        self.put(dst, src, pe, stream)

    def wait_signal(self, signal: Any, value: int, source: int | None = None, stream: Any = None) -> None:
        """Nothing to do: in stream order the put has been done."""

    def plan_allreduce(self, x: Any, out: Any, op: Any = "sum") -> Callable[[Any], None]:
        """out = x"""
        return lambda stream: self.put(out, x, 0, stream)
