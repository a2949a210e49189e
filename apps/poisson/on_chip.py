"""Iterations whose vectors never leave the chip: one kernel, a brick of the part a block.

Read on_chip_kernel.py first.
"""

import math
from typing import Any, NamedTuple

import pennympi
from pennympi.kernels.block import Words
from pennympi.kernels.in_kernel import GridBarrier, grid_barrier_words

from ..program.device import address, array_module, multiprocessors
from .loop import Loop
from .problem import Problem

SIDE, SLOT_BYTES = 16, 16  # points of a brick along y, and along z;  bytes of a slot
THREADS = SIDE * SIDE
VALUES = {"cg": 1, "one_sum": 2, "pipelined": 2}  # of a sum
DEPTHS = {"cg": (1, 2, 4, 8, 16), "one_sum": (1, 2, 4, 8), "pipelined": (1, 2, 4, 8)}  # points of a thread, in registers


class Shape(NamedTuple):
    """How a part is cut into bricks of depth * SIDE * SIDE points.

    own: points of the part, by dimension;  bricks: their number;  joined: whether a dimension has neighbours at its ends
    """

    own: tuple[int, int, int]
    bricks: tuple[int, int, int]
    depth: int
    joined: tuple[bool, bool, bool]
    several: bool
    dtype: str

    @property
    def image(self) -> tuple[int, int, int]:
        """Slots of half of the image."""
        x, y, z = self.bricks
        return x * self.depth + 2, y * SIDE + 2, z * SIDE + 2

    @property
    def steps(self) -> tuple[int, int, int]:
        """Bytes from a slot to the next one, by dimension."""
        return self.image[1] * self.image[2] * SLOT_BYTES, self.image[2] * SLOT_BYTES, SLOT_BYTES


class Bricks(NamedTuple):
    """What a launch needs beside the sums.

    u, r, p: addresses of fields, p that of the last direction;  image: that of (2, *Shape.image) slots, zero once
    pap:     of (1,), the last p * A p;  number: of (1,), that of the last exchange
    low_x to high_z: from an own slot at this end of a dimension to the neighbour's beyond it, in bytes; 0: no neighbour
    """

    u: int
    r: int
    p: int
    image: int
    pap: int
    number: Words
    low_x: int
    high_x: int
    low_y: int
    high_y: int
    low_z: int
    high_z: int


class OnChip(Loop):
    """All methods are collective."""

    methods = tuple(VALUES)
    sentence = "all iterations in one kernel, all vectors on chip"

    @classmethod
    def why_not(cls, team: Any, problem: Problem) -> str:
        if team.backend == "host":
            return "it keeps its vectors in the registers of a GPU"
        if len(problem.shape) != 3:
            return "its bricks have three dimensions"
        if array_module(team).cuda.runtime.getDeviceCount() < team.n_local:
            return "PEs share a GPU, all of whose multiprocessors it may need"
        if not reaches_all(team):
            return "its blocks write to the neighbours by pointers, which do not reach all GPUs"
        grid = team.grid(problem.shape, periodic=problem.periodic, halo=1)
        shape = shape_of(team, grid, problem)
        if shape is None:
            return f"a part of {grid.own} points has no room in the registers of {multiprocessors(team)} multiprocessors"
        if problem.method == "pipelined" and problem.dtype == "float32":
            return "the pipelined method loses more digits than float32 can spare"
        for axis, n, size, joined in zip("xyz", grid.own, (shape.depth, SIDE, SIDE), shape.joined, strict=True):
            if joined and n % size:
                return f"the ends of dimension {axis} have neighbours, and {n} points are no multiple of a brick's {size}"
        return ""

    def prepare(self) -> None:
        from .on_chip_kernel import on_chip_of  # needs numba-cuda

        team, grid = self.team, self.grid
        shape = shape_of(team, grid, self.problem)
        assert shape is not None
        self.blocks = math.prod(shape.bricks)
        self._image = team.zeros(2 * 2 * math.prod(shape.image), "int64")
        self._memory = team.zeros(grid_barrier_words(team.n_pes, VALUES[self.problem.method]), "int64")
        self._barrier = GridBarrier(team.me, team.n_pes, VALUES[self.problem.method], self._memory)
        self._kept = [array_module(team).zeros(1, dtype) for dtype in (self.problem.dtype, "int64")]
        sides = []
        for axis, step in zip("xyz", shape.steps, strict=True):
            own = step * grid.own["xyz".index(axis)]
            for pe, over in ((grid.neighbour(axis + "-"), own), (grid.neighbour(axis + "+"), -own)):
                sides.append(0 if pe is None else address(team.peer(self._image, pe)) - address(self._image) + over)
        fields = map(self.fields.at, ("u", "r", "even"))
        self._bricks = Bricks(*fields, address(self._image), address(self._kept[0]), self._kept[1], *sides)  # type: ignore[call-arg]
        self._kernel = team.kernel(on_chip_of(shape, self.problem.method), self.problem.dtype, most_threads=THREADS)
        self.kernels.append(self._kernel)

    def iterate(self, most: int, below: float) -> None:
        args = self.fields.part, self.sums.scalars(below), most, self._bricks, self._barrier
        self._kernel(self.blocks, *args, stream=self.stream, threads=THREADS)

    def free(self) -> None:
        super().free()
        self.team.free(self._image)
        self.team.free(self._memory)


def reaches_all(team: Any) -> bool:
    """Whether pointers of all PEs reach all PEs.  Collective."""
    probe = team.zeros(1, "int64")
    try:
        near = all(team.peer(probe, pe) is not None for pe in range(team.n_pes))
    except pennympi.Unsupported:
        near = False
    near = all(team.gather(near))
    team.free(probe)
    return near


def shape_of(team: Any, grid: Any, problem: Problem) -> Shape | None:
    """The bricks of the least depth of which all run at the same time."""
    joined = tuple(around or parts > 1 for around, parts in zip(problem.periodic, grid.dims, strict=True))
    for depth in DEPTHS[problem.method]:
        bricks = -(-grid.own[0] // depth), -(-grid.own[1] // SIDE), -(-grid.own[2] // SIDE)
        if math.prod(bricks) <= multiprocessors(team):
            return Shape(grid.own, bricks, depth, joined, team.n_pes > 1, problem.dtype)  # type: ignore[arg-type]
    return None
