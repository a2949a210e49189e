"""Answers that are known without solving the problem on the grid."""

import math
from collections.abc import Iterator
from itertools import count

import numpy as np

from ..grid import spectrum
from ..grid.boundary import column
from ..grid.problem import Problem


def residuals_one_mode(nx: int, ny: int, iterations: int) -> np.ndarray:
    """Norm of each Jacobi sweep for NVIDIA's boundary, (iterations,) float64, in O(nx) a sweep.

    It takes the boundary for one sine of period ny-1, which separates: along x each sweep is
    u_i <- (u_{i+1} + u_{i-1} + 2 cos(theta) u_i) / 4.  But the ring has ny-2 rows, so the norms are exact at iteration 0
    only, and good for large ny (1e-5 at 1024 rows and 300 sweeps).
    """
    short = np.array([_short(1, ny - 1)])
    return _norms(_along_x(Problem(nx, ny), short), iterations, np.array([(ny - 1) / 2.0]))


def residuals(problem: Problem, iterations: int, remainder: float = 1e-10) -> np.ndarray:
    """Norm of each sweep, (iterations,) float64, for either boundary and method, in O(nx) a sweep and wave.

    The boundary's column is split into the waves of its ring, each of which decays on its own.
    remainder: share of the column's sum of squares that may be left out
    """
    ring = column(problem.ny, problem.bc, "float64")[1:-1]
    waves = np.fft.rfft(ring)
    weight = np.full(waves.size, 2.0)
    weight[0] = 1.0
    if ring.size % 2 == 0:
        weight[-1] = 1.0
    energy = weight * np.abs(waves) ** 2 / ring.size  # sums to the column's sum of squares
    order = np.argsort(energy)[::-1]
    kept = np.cumsum(energy[order]) < (1.0 - remainder) * energy.sum()
    chosen = order[: int(kept.sum()) + 1]
    short = np.array([_short(int(wave), ring.size) for wave in chosen])
    return _norms(_along_x(problem, short), iterations, energy[chosen])


def _short(wave: int, rows: int) -> float:
    """(1 - cosine) / 2 of a wave's angle from row to row.

    Not the cosine: near 1 its rounding is 1e-16, which grows by the square of the points of a wavelength over 2 pi.
    """
    return math.sin(math.pi * wave / rows) ** 2


def _along_x(problem: Problem, short: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(u, change) of each sweep, for waves with these ``_short`` (waves,).

    u:      (waves, nx) after the sweep
    change: (waves, nx-2), what a plain sweep would add; its norm is that of either method
    The next sweep overwrites both arrays.
    """
    u, before = (np.zeros((short.size, problem.nx)) for _ in (0, 1))
    u[:, 0] = u[:, -1] = before[:, 0] = before[:, -1] = 1.0
    for k in count():
        inner = u[:, 1:-1]
        change = 0.25 * ((u[:, 2:] - inner) + (u[:, :-2] - inner)) - short[:, None] * inner
        before[:, 1:-1] += spectrum.weight(problem, k) * (inner + change - before[:, 1:-1])
        u, before = before, u
        yield u, change


def _norms(sweeps: Iterator[tuple[np.ndarray, np.ndarray]], iterations: int, energy: np.ndarray) -> np.ndarray:
    """Norms (iterations,) of the sum of waves whose columns have these sums of squares (waves,)."""
    norms = np.empty(iterations)
    for k in range(iterations):
        _, change = next(sweeps)
        norms[k] = math.sqrt(float(energy @ np.einsum("qi,qi->q", change, change)))
    return norms


def shape_along_x(problem: Problem, iterations: int) -> np.ndarray:
    """(nx,) float64 whose product with ``column`` is the exact field after n sweeps, for the boundary "periodic"."""
    u = np.zeros((1, problem.nx))
    u[:, 0] = u[:, -1] = 1.0
    sweeps = _along_x(problem, np.array([_short(1, problem.ny - 2)]))
    for _ in range(iterations):
        u, _ = next(sweeps)
    return u[0]


def steady_along_x(nx: int, ny: int) -> np.ndarray:
    """(nx,) float64: the limit of ``shape_along_x``."""
    k = 2.0 * math.asinh(math.sin(math.pi / (ny - 2)))
    middle = (nx - 1) / 2.0
    distance = np.abs(np.arange(nx) - middle)
    # cosh(k d) / cosh(k m) by decaying exponentials, because either cosh may overflow
    return np.exp(k * (distance - middle)) * (1.0 + np.exp(-2.0 * k * distance)) / (1.0 + math.exp(-2.0 * k * middle))


def steady_state(nx: int, ny: int) -> np.ndarray:
    """The limit (ny, nx) float64 of the field for the boundary "periodic"."""
    return column(ny, "periodic", "float64")[:, None] * steady_along_x(nx, ny)[None, :]


def eigenmode_axes(nx: int, ny: int, p: int = 1, q: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """((ny,), (nx,)) float64 whose outer product is a field that each sweep multiplies by a number (``spectrum.py``).

    It is zero on columns 0 and nx-1, and periodic over the ring of ny-2 rows.  Angles are reduced exactly, as integers.
    """
    along_x = np.sin(math.pi * (p * np.arange(nx) % (2 * nx - 2)) / (nx - 1))
    along_x[0] = along_x[-1] = 0.0
    along_y = np.cos(2.0 * math.pi * (q * (np.arange(ny) - 1) % (ny - 2)) / (ny - 2))
    return along_y, along_x


def eigenmode(nx: int, ny: int, p: int = 1, q: int = 1) -> np.ndarray:
    """The field (ny, nx) float64 of ``eigenmode_axes``."""
    along_y, along_x = eigenmode_axes(nx, ny, p, q)
    return along_y[:, None] * along_x[None, :]
