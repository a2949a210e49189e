"""Iterations whose vectors stay on the chip: one kernel, a brick of the part a block.

Read on_chip_kernel.py first.
"""

import math
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

import pennympi
from pennympi.kernels.block import Words
from pennympi.kernels.in_kernel import GridBarrier, grid_barrier_words

from ..program.device import address, array_module, multiprocessors
from .loop import Loop
from .problem import Problem

HEIGHT, PACKET_BYTES, SIDES = 16, 16, 6  # points of a brick along y;  bytes of a packet;  sides of a brick
TABLE_BYTES = 8 * (SIDES + 1)  # of a brick, see ``sides_of``
VALUES = {"cg": 1, "one_sum": 2, "pipelined": 2}  # of a sum
SIZES = (1, 16), (2, 16), (4, 16), (8, 16), (8, 32), (16, 32), (32, 32)  # of a brick: points along x, and along z
N_SIZES = {"cg": len(SIZES), "one_sum": 4, "pipelined": 4}  # of these, for which a method has the registers
IN_REGISTERS = 18  # points of a column of r, at most; the others lie in shared memory
EXCHANGES = 4  # of a launch are at most so many times its sums: that makes their numbers new
SUMS_BYTES = 8192  # of shared memory


class Shape(NamedTuple):
    """How a part is cut into bricks of ``size`` points; a thread has ``depth`` of them, a column along x.

    own: points of the part, by dimension;  stride: elements of a field from a point to the next one along x
    most_bricks: of any PE;  several: whether there are several PEs
    """

    own: tuple[int, int, int]
    stride: int
    depth: int
    width: int
    most_bricks: int
    several: bool
    dtype: str

    @property
    def size(self) -> tuple[int, int, int]:
        return self.depth, HEIGHT, self.width

    @property
    def bricks(self) -> tuple[int, ...]:
        """Their number, by dimension."""
        return tuple(-(-n // size) for n, size in zip(self.own, self.size, strict=True))

    @property
    def whole(self) -> bool:
        """Whether all points of the bricks are own ones."""
        return all(n % size == 0 for n, size in zip(self.own, self.size, strict=True))

    @property
    def threads(self) -> int:
        return HEIGHT * self.width

    @property
    def kept(self) -> int:
        """Points of a column of r that lie in shared memory."""
        return max(0, self.depth - IN_REGISTERS)

    @property
    def pitch(self) -> int:
        """Points of a row in shared memory, rim included."""
        return self.width + 2

    @property
    def plane(self) -> int:
        return (HEIGHT + 2) * self.pitch

    @property
    def tile(self) -> int:
        """Points in shared memory of what A is applied to."""
        return (self.depth + 2) * self.plane

    @property
    def shared_bytes(self) -> int:
        return (self.tile + self.kept * self.threads) * np.dtype(self.dtype).itemsize

    @property
    def firsts(self) -> tuple[int, ...]:
        """The first point of each side (x-, x+, y-, y+, z-, z+) in the rim of a brick, and the number of all."""
        along_y, along_z = self.depth * self.width, self.depth * HEIGHT
        return tuple(accumulate([0, self.threads, self.threads, along_y, along_y, along_z, along_z]))

    @property
    def slots(self) -> int:
        """Points of the rim of a thread, at most."""
        return -(-self.firsts[SIDES] // self.threads)

    @property
    def half_bytes(self) -> int:
        """Bytes of the packets of an exchange."""
        return self.most_bricks * self.firsts[SIDES] * PACKET_BYTES


class Bricks(NamedTuple):
    """What a launch needs beside the sums.

    u, r:  addresses of fields;  p: address of (bricks, tile) elements, shared memory as the last launch left it
    inbox: address of (2, most_bricks, rim) packets, zero once;  sides: (bricks, 7), see ``sides_of``
    """

    u: int
    r: int
    p: int
    inbox: int
    sides: Words


class OnChip(Loop):
    """All methods are collective."""

    methods = tuple(VALUES)
    sentence = "all iterations in one kernel, the vectors on chip"

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
            return f"a part of {grid.own} points has no room on {multiprocessors(team)} multiprocessors"
        if problem.method == "pipelined" and problem.dtype == "float32":
            return "the pipelined method loses more digits than float32 can spare"
        for axis, n, size, around, parts in zip("xyz", grid.own, shape.size, problem.periodic, grid.dims, strict=True):
            if n % size and (around or parts > 1):
                return f"the ends of dimension {axis} have neighbours, and {n} points are no multiple of a brick's {size}"
        return ""

    def prepare(self) -> None:
        from .on_chip_kernel import on_chip_of  # needs numba-cuda

        team, dtype = self.team, self.problem.dtype
        shape = shape_of(team, self.grid, self.problem)
        assert shape is not None
        self.shape = shape._replace(stride=self.fields.part.plane)
        n_sums, self.blocks = VALUES[self.problem.method], math.prod(self.shape.bricks)
        self._inbox = team.zeros(2 * self.shape.half_bytes // 8, "int64")
        self._memory = team.zeros(grid_barrier_words(team.n_pes, n_sums), "int64")
        self._barrier = GridBarrier(team.me, team.n_pes, n_sums, self._memory)
        self._p = array_module(team).zeros(self.blocks * self.shape.tile, dtype)
        self._sides = array_module(team).asarray(sides_of(team, self.grid, self.shape, self._inbox))
        at = self.fields.at
        self._bricks = Bricks(at("u"), at("r"), address(self._p), address(self._inbox), self._sides)
        kernel, how = on_chip_of(self.shape, self.problem.method), (self.shape.threads, 1, self.shape.shared_bytes)
        self._kernel = team.kernel(kernel, dtype, *how)
        self.kernels.append(self._kernel)

    def iterate(self, most: int, below: float) -> None:
        args = self.fields.part, self.sums.scalars(below), most, self._bricks, self._barrier
        self._kernel(self.blocks, *args, stream=self.stream, threads=self.shape.threads)

    def free(self) -> None:
        super().free()
        self.team.free(self._inbox)
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
    """The least bricks of which all run at the same time, the same size on all PEs.  Collective."""
    free_bytes = array_module(team).cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"] - SUMS_BYTES
    found = team.gather((grid.own, multiprocessors(team), free_bytes))
    owns, slots, frees = zip(*found, strict=True)
    for depth, width in SIZES[: N_SIZES[problem.method]]:
        shapes = [Shape(own, 0, depth, width, 0, team.n_pes > 1, problem.dtype) for own in owns]
        most_bricks = max(math.prod(one.bricks) for one in shapes)
        if most_bricks <= min(slots) and shapes[0].shared_bytes <= min(frees):
            return shapes[team.me]._replace(most_bricks=most_bricks)
    return None


def sides_of(team: Any, grid: Any, shape: Shape, inbox: Any) -> np.ndarray:
    """The table of a PE's bricks, (bricks, 7) int64: for each side the address to which its packets go, or 0 where no
    brick is; then the PE that a brick waits for, another one where it can.  Collective.
    """
    bricks = [shape._replace(own=own).bricks for own in team.gather(grid.own)]
    table = np.zeros((math.prod(shape.bricks), SIDES + 1), np.int64)
    for row, place in zip(table, np.ndindex(shape.bricks), strict=True):
        row[SIDES] = team.me
        for side in range(SIDES):
            axis, up = divmod(side, 2)
            there, pe = list(place), team.me
            there[axis] += 1 if up else -1
            if not 0 <= there[axis] < shape.bricks[axis]:
                pe = grid.neighbour("xyz"[axis] + "-+"[up])
                if pe is None:
                    continue
                there[axis] = 0 if up else bricks[pe][axis] - 1
                row[SIDES] = pe
            first = np.ravel_multi_index(there, bricks[pe]) * shape.firsts[SIDES] + shape.firsts[side ^ 1]
            row[side] = address(team.peer(inbox, pe)) + int(first) * PACKET_BYTES
    return table
