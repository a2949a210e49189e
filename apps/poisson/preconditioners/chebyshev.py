"""z = a polynomial of the operator times r: Chebyshev's iteration for A z = r from 0, in the interval of A's eigenvalues.

Its only communication is a halo for each step but the first.  Two dot products serve for DEGREE stencils.
"""

from typing import Any

from pennympi.kernels.block import block, blocks, lanes, load, product, real, store

from ..points import applied, row_at
from ..problem import Problem
from ..records import RZ, Part

DEGREE = 4
WIDTH = 30.0  # largest over smallest eigenvalue that the polynomial aims at: the iteration sees to the others


def chebyshev_start(ctx, part: Part, z, d, r, weight: float):
    """z = d = weight * r."""
    for row in range(block(), part.nx * part.ny, blocks()):
        at = row_at(part, row)
        for i in lanes(at, at + part.nz):
            step = real(weight) * load(r, i)
            store(d, i, step)
            store(z, i, step)


def chebyshev_step(ctx, part: Part, d, z, r, keep: float, weight: float):
    """d = keep * d + weight * (r - A z)."""
    for row in range(block(), part.nx * part.ny, blocks()):
        at = row_at(part, row)
        for i in lanes(at, at + part.nz):
            left = load(r, i) - applied(part, z, i)
            store(d, i, product(real(keep), load(d, i)) + product(real(weight), left))


def add(ctx, part: Part, z, d):
    """z += d."""
    for row in range(block(), part.nx * part.ny, blocks()):
        at = row_at(part, row)
        for i in lanes(at, at + part.nz):
            store(z, i, load(z, i) + load(d, i))


class Chebyshev:
    """See ``Pointwise`` for the names."""

    of_field, rz, own_field, weight = "z", RZ, True, 1.0

    def __init__(self, steps: Any, problem: Problem):
        self._steps = steps
        self._d = steps.fields.grid.zeros(problem.dtype)
        largest = problem.eigenvalues()[1]
        smallest = max(problem.eigenvalues()[0], largest / WIDTH)
        self._middle, self._radius = (largest + smallest) / 2, (largest - smallest) / 2
        self._start, self._step, self._add = (steps.kernel(one) for one in (chebyshev_start, chebyshev_step, add))

    @classmethod
    def refuse(cls, problem: Problem) -> str:
        """Why it can't be used; "" if it can."""
        return ""

    def apply(self) -> None:
        """Enqueue z = M r (Saad, "Iterative Methods for Sparse Linear Systems", algorithm 12.1)."""
        steps, fields = self._steps, self._steps.fields
        z, r = fields["z"], fields["r"]
        steps.launch(self._start, z, self._d, r, 1.0 / self._middle)
        sigma = self._middle / self._radius
        rho = 1.0 / sigma
        for _ in range(DEGREE - 1):
            following = 1.0 / (2.0 * sigma - rho)
            steps.exchange("z")
            steps.launch(self._step, self._d, z, r, following * rho, 2.0 * following / self._radius)
            steps.launch(self._add, z, self._d)
            rho = following

    def free(self) -> None:
        """Free its memory.  Collective."""
        self._steps.team.free(self._d)
