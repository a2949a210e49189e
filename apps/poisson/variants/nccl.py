"""NCCL: grouped sends and receives of packed faces, and ncclAllReduce of the words, all on one stream.

A face is packed and unpacked by one copy of CuPy each; a contiguous one goes as it is.
Read first: stream.py, then mpi.py.
"""

from typing import Any

from ...program.device import array_module
from ...program.nccl_communicator import Communicator, missing
from ..problem import Problem
from .steps import Steps

AXES = "xyz"


class Nccl(Steps):
    """As fast as NCCL does it: no host, and one group for each axis whose faces travel."""

    @classmethod
    def refuse(cls, team: Any, problem: Problem) -> str:
        return missing(team)

    def prepare(self) -> None:
        self._nccl = Communicator(self.team)

    def exchange(self, name: str) -> None:
        """Faces of all axes in one group; for "d", whose corners are wanted, axis after axis with the halos before."""
        grid, corners = self.grid, name == "d"
        axes = range(len(grid.own))
        with self.stream:
            for together in [[d] for d in axes] if corners else [list(axes)]:
                self._swap(self.fields[name], together, corners)

    def _swap(self, field: Any, axes: list[int], corners: bool) -> None:
        xp, grid, at, n = array_module(self.team), self.grid, self.stream.ptr, len(self.grid.own)
        sends, receives = [], []
        for d in axes:
            others = [slice(None) if corners and k < d else slice(1, 1 + grid.own[k]) for k in range(n)]
            comes = []
            for sign, sent, received in (("-", 1, 0), ("+", grid.own[d], grid.own[d] + 1)):
                pe = grid.neighbour(AXES[d] + sign)
                if pe is not None:
                    face, halo = (field[(*others[:d], k, *others[d + 1 :])] for k in (sent, received))
                    sends.append((pe, xp.ascontiguousarray(face)))
                    comes.append((pe, halo, xp.empty(halo.shape, field.dtype)))
            # Where both neighbours are one PE, what it sends first is for the second side of this one.
            receives += reversed(comes)
        with self._nccl.nccl.group():
            for pe, face in sends:
                self._nccl.comm.send(face, pe, stream=at)
            for pe, _, come in receives:
                self._nccl.comm.recv(come, pe, stream=at)
        for _, halo, come in receives:
            halo[...] = come

    def sum_fields(self, mine: Any, total: Any) -> None:
        self._nccl.sum(mine, total, stream=self.stream)

    def add_up(self, slot: int, first: int, last: int) -> None:
        words, totals = self.sums.part(slot, first, last)
        self._nccl.sum(words, totals, stream=self.stream)
