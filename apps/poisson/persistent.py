"""One kernel does all iterations: its blocks never leave the device, and sum over all PEs by themselves.

It computes what ``stream`` does by the same functions, in the same order where that matters: to the same bits.
Read stream.py and persistent_kernel.py first.
"""

from typing import Any

import pennympi
from pennympi.kernels.in_kernel import Meeting, meeting_words

from .persistent_kernel import iterate_of
from .problem import Problem
from .records import Faces, Part
from .stream import Stream


class Persistent(Stream):
    """The contiguous dimension is not cut, so that all faces are made of rows."""

    sentence = "all iterations in one kernel, sums and halos included"

    @classmethod
    def why_not(cls, team: Any) -> str:
        if team.backend == "host":
            return ""
        probe = team.zeros(1, "int64")
        near = all(_reaches(team, probe, pe) for pe in range(team.n_pes))
        team.free(probe)
        return "" if near else "its blocks write to the neighbours by pointers, which do not reach all GPUs"

    @classmethod
    def dims(cls, problem: Problem) -> tuple[int, ...] | None:
        return (*(0 for _ in problem.shape[1:]), 1)

    def prepare(self) -> None:
        team = self.team
        self._memory = team.zeros(meeting_words(team.n_pes, 1), "int64")
        self._place = Meeting(team.me, team.n_pes, 1, self._memory)
        self._faces = faces_of(team, self.grid, self.problem, self.fields.part)
        self._kernel = self.of_tiles(iterate_of)

    def iterate(self, most: int, below: float) -> None:
        self.launch_tiles(self._kernel, self.stream, self.sums.scalars(below), most, self._faces, self._place)

    def free(self) -> None:
        super().free()
        self.team.free(self._memory)


def _reaches(team: Any, x: Any, pe: int) -> bool:
    try:
        team.peer(x, pe)
    except pennympi.Unsupported:
        return False
    return True


def faces_of(team: Any, grid: Any, problem: Problem, part: Part) -> Faces:
    """See ``Faces``.  Collective."""
    own_of, pitch = team.gather(grid.own), part.row
    last = len(grid.own) - 2  # the dimension of the rows that lie beside one another

    def beside(axis: int, sign: str) -> tuple[int, tuple[int, ...]]:
        pe = grid.neighbour("xyz"[axis] + sign)
        return (-1, grid.own) if pe is None else (pe, own_of[pe])

    sides = []
    for sign in "-+":  # along x of a box: planes are alike there
        pe, own = beside(0, sign) if last else (-1, grid.own)
        x = own[0] if sign == "-" else -1
        sides += [pe, (1 + x) * part.plane + pitch + 1]
    for sign in "-+":
        pe, own = beside(last, sign)
        plane = (own[last] + 2) * pitch if last else 0
        y = own[last] if sign == "-" else -1
        sides += [pe, plane + (1 + y) * pitch + 1, plane]
    return Faces(*sides, int(problem.periodic[-1]), problem.item_bytes)  # type: ignore[call-arg]
