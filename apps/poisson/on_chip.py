"""Iterations whose vectors never leave the chip: one kernel, a brick of the part a block.  See on_chip_kernel.py."""

import math
from typing import Any

from pennympi.kernels.in_kernel import Meeting, meeting_words


from ..program.device import address, array_module, multiprocessors
from .on_chip_kernel import SIDE, SLOT_BYTES, THREADS, Bricks, Fields, Shape, solve_of
from .problem import Problem
from .stream import Stream

DEPTHS = 1, 2, 4, 8, 16  # points of a thread: of float64 more have no room in its registers


class OnChip(Stream):
    """All methods are collective."""

    sentence = "all iterations in one kernel, all vectors on chip"

    @classmethod
    def why_not(cls, team: Any, problem: Problem | None = None) -> str:
        if team.backend == "host":
            return "it keeps its vectors in the registers of a GPU"
        if problem is None:
            return ""
        if len(problem.shape) != 3:
            return "its bricks are of three dimensions"
        grid = team.grid(problem.shape, periodic=problem.periodic, halo=1)
        shape = shape_of(grid.own, problem.dtype, multiprocessors(team))
        if shape is None:
            return f"a part of {grid.own} points has no room in the registers of {multiprocessors(team)} multiprocessors"
        sizes = shape.depth, SIDE, SIDE
        for axis, (n, around, parts, size) in enumerate(zip(grid.own, problem.periodic, grid.dims, sizes, strict=True)):
            if (around or parts > 1) and n % size:
                return f"dimension {'xyz'[axis]} has neighbours at its ends, and {n} is no multiple of a brick's {size}"
        return ""

    def prepare(self) -> None:
        team, zeros = self.team, array_module(self.team).zeros
        shape = shape_of(self.grid.own, self.problem.dtype, multiprocessors(team))
        assert shape is not None
        self.blocks = math.prod(shape.bricks)
        self._image = team.zeros(2 * 2 * math.prod(shape.image), "int64")
        self._memory, self._numbers = team.zeros(meeting_words(team.n_pes, 2), "int64"), zeros(1, "int64")
        self._meeting = Meeting(team.me, team.n_pes, 1, self._memory)
        steps = [n * SLOT_BYTES for n in (shape.image[1] * shape.image[2], shape.image[2], 1)]
        sides = []
        for axis, step in enumerate(steps):
            for sign, end in (("-", 1), ("+", -1)):
                pe = self.grid.neighbour("xyz"[axis] + sign)
                there = 0 if pe is None else address(team.peer(self._image, pe)) - address(self._image)
                sides.append(0 if pe is None else there + end * self.grid.own[axis] * step)
        self._bricks = Bricks(address(self._image), self._numbers, *sides)
        self._kernel = team.kernel(solve_of(shape), self.problem.dtype, most_threads=THREADS)
        self.kernels.append(self._kernel)

    def iterate(self, most: int, below: float) -> None:
        fields = Fields(self.fields.at("u"), self.fields.at("r"), self.fields.at("even"))
        scalars = self.sums.scalars(below)
        self._kernel(self.blocks, self.fields.part, fields, scalars, most, self._bricks, self._meeting, stream=self.stream, threads=THREADS)  # fmt: skip

    def free(self) -> None:
        super().free()
        self.team.free(self._image)
        self.team.free(self._memory)


def shape_of(own: tuple[int, ...], dtype: str, blocks: int) -> Shape | None:
    """The bricks of the least depth of which all run at the same time."""
    for depth in DEPTHS:
        bricks = -(-own[0] // depth), -(-own[1] // SIDE), -(-own[2] // SIDE)
        if math.prod(bricks) <= blocks:
            return Shape(own, bricks, depth, dtype)  # type: ignore[arg-type]
    return None
