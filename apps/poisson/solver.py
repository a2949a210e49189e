"""A solve: kernels, exchanges of halos and AllReduces on one stream, in a loop that ends on the device."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from mpi4py import MPI

from pennympi.kernels.in_kernel import MAX_TOTAL, WORDS

from ..program.device import array_module, to_numpy
from . import kernels
from .kernels import MOST_IN_BLOCK, Part, Vectors
from .sums import Sums, end_iteration

BLOCKS, THREADS, WARP = {"host": 1, "cuda": 132 * 8}, 256, 32  # blocks of a launch; threads of a block, and of a warp


@dataclass
class Problem:
    """-laplace(u) = f on the unit square or cube.

    shape:    number of points by dimension, of two or three dimensions; the last dimension is contiguous in memory
    periodic: True, by dimension, if the last point is next to the first.  Else u is 0 at distance h = 1 / (n + 1) from
              the first and the last point
    dtype:    dtype of the fields; dot products are sums in float64
    tol:      the iterations end when the norm of the residual over the norm of f is at most ``tol``
    niter:    the most iterations
    replace:  number of iterations after which the residual is computed from u; 0: never
    Raises ValueError if the problem can't be solved.
    """

    shape: tuple[int, ...]
    periodic: tuple[bool, ...]
    dtype: str = "float64"
    tol: float = 1e-8
    niter: int = 10000
    replace: int = 100

    def __post_init__(self) -> None:
        if all(self.periodic):
            raise ValueError("all dimensions are periodic, so a constant could be added to u: let one of them have ends")
        if self.shape[-1] > MOST_IN_BLOCK or math.prod(self.shape) > MAX_TOTAL:
            raise ValueError(f"give at most {MOST_IN_BLOCK} points in the last dimension, and {MAX_TOTAL} in all")
        self.spacings = [1.0 / (n + (not periodic)) for n, periodic in zip(self.shape, self.periodic, strict=True)]
        self.scale = min(self.spacings) ** 2  # the operator of the kernels is -laplace times ``scale``


class Solver:
    """Conjugate gradients on a team.  All methods are collective.

    unit: solution u = unit * u of the kernels, a power of two.  The kernels solve for a right-hand side whose largest
          value is between 1/2 and 1, so that the exact sums, whose bins have fixed units, lose no digits
    """

    def __init__(self, team: Any, problem: Problem):
        self.team, self.problem, self.stream = team, problem, team.stream()
        self.grid = team.grid(problem.shape, periodic=problem.periodic, halo=1)
        self.fields = {name: self.grid.zeros(problem.dtype) for name in Vectors._fields}
        self.unit = self.norm_of_f = 1.0
        zeros, current = array_module(team).zeros, team.zeros((2, WORDS), "int64")
        squares, history, square = (zeros(shape, "int64") for shape in ((2, WORDS), problem.niter + 2, 1))
        self._sums: Any = Sums(current, squares, history, square, zeros(1, problem.dtype))
        self._square = square.view("float64")
        self._args: Any = part_of(self.grid, self.fields["u"], problem), Vectors(**self.fields), self._sums
        self._kernels = {step: team.kernel(step, problem.dtype, most_threads=THREADS) for step in kernels.BY_ROWS}
        self._end_iteration = team.kernel(end_iteration, problem.dtype, most_threads=WARP)
        team.compile([*self._kernels.values(), self._end_iteration])
        self._exchange_u, self._exchange_r = (self.grid.plan_exchange(self.fields[name]) for name in "ur")
        self._add_curvatures, self._add_squares = (team.plan_allreduce(x, x, op="sum") for x in current)
        self._loop = cache(lambda most, below: team.plan_loop(self._iterate, self._square, below, most))

    def free(self) -> None:
        """Free all symmetric memory, after all PEs have finished the work of their streams."""
        self.team.barrier(stream=self.stream)
        self.team.synchronize(self.stream)
        for array in (*self.fields.values(), self._sums.current):
            self.team.free(array)

    def _launch(self, step: Any, stream: Any) -> None:
        """Enqueue a kernel of ``kernels.BY_ROWS``."""
        part = self._args[0]
        n_rows = part.nx * part.ny
        blocks = max(-(-n_rows // (MOST_IN_BLOCK // part.nz)), min(n_rows, BLOCKS[self.team.backend]))
        threads = min(THREADS, -(-part.nz // WARP) * WARP)
        self._kernels[step](blocks, *self._args, stream=stream, threads=threads)

    def _iterate(self, stream: Any) -> None:
        """Enqueue an iteration: the body of the loop."""
        self._launch(kernels.update_direction, stream)
        self._add_curvatures(stream=stream)
        self._launch(kernels.update_solution, stream)
        self._end(1, stream)

    def _end(self, n: int, stream: Any) -> None:
        """Enqueue what follows a new r: the exchange of its halo, the sum r * r, and ``end_iteration`` with n."""
        self._exchange_r(stream=stream)
        self._add_squares(stream=stream)
        self._end_iteration(1, self._sums, n, stream=stream, threads=WARP)

    def _compute_residual(self) -> None:
        """Enqueue r = f - A u and what follows, without a change of p."""
        self._exchange_u(stream=self.stream)
        self._launch(kernels.compute_residual, self.stream)
        self._end(0, self.stream)

    def set_f(self, own: np.ndarray) -> None:
        """Set the right-hand side f, and u to 0.  own: this PE's own points of f, broadcast to ``grid.own``"""
        scaled = np.broadcast_to(np.asarray(own, np.float64), self.grid.own) * self.problem.scale
        largest = self.team.comm.allreduce(float(np.abs(scaled).max(initial=0.0)), op=MPI.MAX)
        self.unit = 2.0 ** math.frexp(largest)[1] if 0.0 < largest < math.inf else 1.0
        for name in ("u", "p_even", "p_odd"):
            self.fields[name][...] = 0
        self.grid.interior(self.fields["f"])[...] = array_module(self.team).asarray(scaled / self.unit)
        self.team.synchronize()
        self.norm_of_f = 1.0
        self.norm_of_f = self.residual() or 1.0

    def residual(self) -> float:
        """Compute r = f - A u.  Returns the norm of r over the norm of f."""
        self._compute_residual()
        self.team.synchronize(self.stream)
        return math.sqrt(self._square[0]) / self.norm_of_f

    def run(self, show: Callable[[int, float], object] = lambda iterations, residual: None) -> list[float]:
        """Iterate from u until the residual is small enough or not finite, or ``niter`` iterations are done.

        show: called with (number of iterations, residual) whenever the residual has been computed from u
        Returns the norm of r over the norm of f after each iteration.
        """
        problem, norms, square = self.problem, list[float](), math.inf
        period, below = problem.replace or problem.niter, (problem.tol * self.norm_of_f) ** 2
        with self.stream:
            self._sums.history[:1] = 0
            self._sums.squares[...] = 0
        while (done := len(norms)) < problem.niter and (done == 0 or below < square < math.inf):
            loop = self._loop(min(period, problem.niter - done), below)
            self._compute_residual()
            loop(self.stream)
            self.team.synchronize(self.stream)
            words = to_numpy(self._sums.history[: done + period + 2])  # the device waits for the host: one read
            squares = words[done + 2 : words[0] + 2].view("float64")
            square = squares[-1]
            norms += (np.sqrt(squares) / self.norm_of_f).tolist()
            show(len(norms), norms[-1])
        return norms

    def u(self) -> np.ndarray:
        """This PE's own points of the solution, float64 (own)."""
        self.team.synchronize(self.stream)
        return to_numpy(self.grid.interior(self.fields["u"])).astype(np.float64) * self.unit


def part_of(grid: Any, field: Any, problem: Problem) -> Part:
    """This PE's part, with the strides of a field."""
    strides = [stride // field.itemsize for stride in field.strides]
    (nx, plane), (ny, row), (nz, _) = [(1, 0), *zip(grid.own, strides, strict=True)][-3:]
    weights = [0.0, *(problem.scale / h**2 for h in problem.spacings)][-3:]
    return Part(nx, ny, nz, plane + row + 1, plane, row, *weights)
