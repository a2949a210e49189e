"""z = a V-cycle of geometric multigrid for A z = r, symmetric: damped Jacobi before and after each coarser level.

The finest level is cut over the PEs.  All coarser ones, which have an eighth of its points together with a margin, are
kept whole by every PE, which does their part of the cycle by itself: a cycle costs one sum of the coarse field over the
PEs, and the bits can't depend on their number.  On many PEs the coarse levels would become the larger share of the work.
"""

from typing import Any

import numpy as np

from pennympi.kernels.block import block, blocks, lanes, load, product, real, store

from ...program.device import array_module
from ..kernels import residual
from ..points import row_at
from ..problem import Problem
from ..records import RZ, Part
from .transfers import Transfer, prolong, restrict

SWEEPS = 2  # before and after the coarser levels
DAMPING = {2: 0.8, 3: 6.0 / 7.0}  # by dimensions: the best one for the waves that a coarser grid can't show
COARSEST_SWEEPS = 4  # for each point along a side, where no coarser level is


def scaled(ctx, part: Part, z, r, weight: float):
    """z = weight * r."""
    for row in range(block(), part.nx * part.ny, blocks()):
        at = row_at(part, row)
        for i in lanes(at, at + part.nz):
            store(z, i, real(weight) * load(r, i))


def add_scaled(ctx, part: Part, z, d, weight: float):
    """z += weight * d."""
    for row in range(block(), part.nx * part.ny, blocks()):
        at = row_at(part, row)
        for i in lanes(at, at + part.nz):
            store(z, i, load(z, i) + product(real(weight), load(d, i)))


def coarser(shape: tuple[int, ...], periodic: tuple[bool, ...]) -> tuple[int, ...] | None:
    """The shape of the next level; None where there is none."""
    if any(n % 2 != (not around) or n < 3 + around for n, around in zip(shape, periodic, strict=True)):
        return None
    return tuple(n // 2 for n in shape)


class Level:
    """A coarse level, the same on every PE: arrays (points + 2 by dimension) of the device."""

    def __init__(self, steps: Any, problem: Problem, shape: tuple[int, ...]):
        self.shape = shape
        self._xp, self._periodic, self._stream = array_module(steps.team), problem.periodic, steps.stream
        local = tuple(n + 2 for n in shape)
        self.z, self.d, self.r = (steps.team.zeros(local, problem.dtype) for _ in range(3))
        flat = len(shape) == 2
        plane = 0 if flat else local[1] * local[2]
        nx, ny, nz = (1, *shape) if flat else shape
        self.part = Part(nx, ny, nz, plane + local[-1] + 1, plane, local[-1], *problem.weights)

    def wrap(self, field: Any) -> None:
        """Bring the points of the other end to the halo, along dimensions that wrap around."""
        with self._stream:
            for d, around in enumerate(self._periodic):
                if around:
                    lines = np.moveaxis(field, d, 0) if self._xp is np else self._xp.moveaxis(field, d, 0)
                    lines[0], lines[-1] = lines[-2], lines[1]


def transfer_to(level: Level, problem: Problem, first: tuple[int, ...], own: tuple[int, ...]) -> Transfer:
    """From a part of the next finer grid, which has ``own`` points from ``first`` on, to a level."""
    begin, low, many = [], [], []
    for start, n, around in zip(first, own, problem.periodic, strict=True):
        shift = 0 if around else 1
        begin.append(start - shift)
        low.append(-((shift - start) // 2))  # the first I with 2 I + shift >= start
        many.append(-((shift - start - n) // 2) - low[-1])
    if len(own) == 2:
        begin, low, many = [0, *begin], [0, *low], [1, *many]
    part = level.part
    return Transfer(*begin, *low, *many, part.first, part.plane, part.row)  # type: ignore[call-arg]


class Multigrid:
    """See ``Pointwise`` for the names."""

    of_field, rz, own_field, weight = "z", RZ, True, 1.0

    def __init__(self, steps: Any, problem: Problem):
        self._steps, self._problem = steps, problem
        self._damped = DAMPING[len(problem.shape)] / problem.diagonal
        self._d = steps.fields.arrays["d"] = steps.fields.grid.zeros(problem.dtype)  # exchanged as any field
        self._levels, shape = [], coarser(problem.shape, problem.periodic)
        while shape:
            self._levels.append(Level(steps, problem, shape))
            shape = coarser(shape, problem.periodic)
        grid, whole = steps.fields.grid, (0,) * len(problem.shape)
        self._transfers = [transfer_to(self._levels[0], problem, grid.first, grid.own)]
        for fine, coarse in zip(self._levels, self._levels[1:], strict=False):
            self._transfers.append(transfer_to(coarse, problem, whole, fine.shape))
        kernels = (scaled, add_scaled, residual, restrict, prolong)
        self._scaled, self._add, self._residual, self._restrict, self._prolong = map(steps.kernel, kernels)
        self._part_of_coarse = steps.team.zeros(self._levels[0].r.shape, problem.dtype)

    @classmethod
    def refuse(cls, problem: Problem) -> str:
        """Why it can't be used; "" if it can."""
        if coarser(problem.shape, problem.periodic):
            return ""
        return (
            f"multigrid has no coarser grid for {problem.shape} points: take odd numbers, best 2**k - 1, and even ones "
            "for dimensions that wrap around"
        )

    def apply(self) -> None:
        """Enqueue z = M r."""
        steps, fields = self._steps, self._steps.fields
        z, r, d, top = fields["z"], fields["r"], self._d, self._levels[0]

        def smooth() -> None:
            steps.exchange("z")
            steps.launch(self._residual, d, r, z)
            steps.launch(self._add, z, d, self._damped)

        steps.launch(self._scaled, z, r, self._damped)
        for _ in range(SWEEPS - 1):
            smooth()
        steps.exchange("z")
        steps.launch(self._residual, d, r, z)
        steps.exchange("d")
        steps.launch(self._restrict, self._transfers[0], self._part_of_coarse, d)
        steps.sum_fields(self._part_of_coarse, top.r)
        self._cycle(0)
        steps.launch(self._prolong, self._transfers[0], z, top.z)
        for _ in range(SWEEPS):
            smooth()

    def _cycle(self, k: int) -> None:
        """level.z = a V-cycle for level.r, from level k on, on this PE."""
        level, launch = self._levels[k], self._steps.launch_on
        z, r, d, part = level.z, level.r, level.d, level.part

        def residual_of_z() -> None:
            level.wrap(z)
            launch(part, self._residual, d, r, z)

        last = k + 1 == len(self._levels)
        launch(part, self._scaled, z, r, self._damped)
        for _ in range(COARSEST_SWEEPS * max(level.shape) if last else SWEEPS - 1):
            residual_of_z()
            launch(part, self._add, z, d, self._damped)
        if not last:
            coarse, transfer = self._levels[k + 1], self._transfers[k + 1]
            residual_of_z()
            level.wrap(d)
            launch(part, self._restrict, transfer, coarse.r, d)
            self._cycle(k + 1)
            launch(part, self._prolong, transfer, z, coarse.z)
            for _ in range(SWEEPS):
                residual_of_z()
                launch(part, self._add, z, d, self._damped)
        level.wrap(z)  # for whoever interpolates

    def free(self) -> None:
        """Free its memory.  Collective."""
        for level in self._levels:
            for array in (level.z, level.d, level.r):
                self._steps.team.free(array)
        self._steps.team.free(self._part_of_coarse)
