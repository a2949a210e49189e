"""The problem of a run, the fixed values of columns 0 and nx-1, and the sweeps that have a norm."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..program.arguments import at_least, not_negative

RANGES: dict[str, Callable[[str], float]] = {  # types of the numbers of a problem
    "nx": at_least(3),
    "ny": at_least(3),
    "niter": at_least(1),
    "tol": not_negative,
    "nccheck": at_least(1),
}
CHOICES = {"dtype": ("float32", "float64"), "bc": ("nvidia", "periodic")}
SHOW_EVERY = 100  # number of iterations from a norm that NVIDIA's sample prints to the next
MOST_SWEEPS = 256  # the most sweeps of a chunk: if a norm inside it ends the solve, the rest of the chunk is lost work
OFTEN = 16  # if a norm is due every OFTEN sweeps or more often, a chunk computes all norms, else only its last norm


@dataclass(frozen=True)
class Problem:
    """A grid of ny rows and nx columns, relaxed until the norm is at most tol.

    Columns 0 and nx-1 are fixed (Dirichlet).  Rows 1..ny-2 are a ring: row 0 repeats row ny-2 and row ny-1 repeats row 1.

    niter:   the most sweeps
    nccheck: number of sweeps from a norm to the next
    bc:      "nvidia" or "periodic", see ``column``
    """

    nx: int
    ny: int
    niter: int = 1000
    tol: float = 1e-8
    nccheck: int = 1
    dtype: str = "float32"
    bc: str = "nvidia"

    @property
    def item_bytes(self) -> int:
        """Bytes of an element."""
        return np.dtype(self.dtype).itemsize

    @property
    def field_bytes(self) -> int:
        """Bytes of a whole field."""
        return self.ny * self.nx * self.item_bytes


def column(ny: int, kind: str, dtype: str) -> np.ndarray:
    """The boundary value of every row, (ny,) of dtype.

    nvidia:   sin(2 pi iy / (ny-1)), as in NVIDIA's sample, although the ring has ny-2 rows
    periodic: sin(2 pi (iy-1) / (ny-2)), with the ring's own period, so that an exact solution is known

    Each sine is computed alone: a vectorised sine may round differently at the end of an array.
    """
    first, period = (0, ny - 1) if kind == "nvidia" else (1, ny - 2)
    values = [math.sin(2.0 * math.pi * (iy - first) / period) for iy in range(ny)]
    return np.array(values, dtype=dtype)


def initial_field(ny: int, nx: int, kind: str, dtype: str) -> np.ndarray:
    """The field before the first sweep, (ny, nx): zero except for the fixed columns."""
    field = np.zeros((ny, nx), dtype)
    field[:, 0] = field[:, -1] = column(ny, kind, dtype)
    return field


def shown(iteration: Any, nccheck: int) -> Any:
    """True if the norm of an iteration is printed: as in NVIDIA's sample, or every ``nccheck``.  Takes arrays, too."""
    return iteration % max(nccheck, SHOW_EVERY) == 0


def due_iterations(problem: Problem, start: int, stop: int, show: bool) -> np.ndarray:
    """The iterations from ``start`` to ``stop`` whose norms are computed.  show: True if norms are printed"""
    k = np.arange(start, stop)
    return k[(k % problem.nccheck == 0) | (show & shown(k, problem.nccheck))]


def next_due(problem: Problem, iteration: int, show: bool) -> int:
    """The first iteration, from ``iteration`` on, whose norm is computed.  show: True if norms are printed"""
    steps = [problem.nccheck, max(problem.nccheck, SHOW_EVERY)][: 1 + show]
    return min(-(-iteration // step) * step for step in steps)


def chunk(problem: Problem, done: int, stop: int, show: bool) -> tuple[int, bool | str]:
    """(number of sweeps of the chunk after ``done`` sweeps, its ``norm`` for ``Grid.plan_sweep``).

    stop: number of sweeps of the solve;  show: True if norms are printed
    """
    most = min(stop, done + MOST_SWEEPS)
    due = next_due(problem, done, show)
    if due < most and problem.nccheck > OFTEN:
        return due + 1 - done, True
    return most - done, "every" if due < most else False
