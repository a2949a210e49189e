"""Answers that are known without solving the grid."""

import math
from collections.abc import Iterator
from itertools import count

import numpy as np

from ..grid import spectrum
from ..grid.boundary import column
from ..grid.problem import Problem


def residuals_one_mode(nx: int, ny: int, iterations: int) -> np.ndarray:
    """Norm of every Jacobi sweep for NVIDIA's boundary, (iterations,) float64, in O(nx) a sweep.

    The boundary is taken for one sine of period ny-1, which separates: along x each sweep is
    u_i <- (u_{i+1} + u_{i-1} + 2 cos(theta) u_i) / 4.  The ring has ny-2 rows, so this is
    exact at iteration 0 only and good for large ny (1e-5 at 1024 rows and 300 sweeps).
    """
    theta = 2.0 * math.pi / (ny - 1)
    return _norms(_along_x(Problem(nx, ny), np.array([math.cos(theta)])), iterations, np.array([(ny - 1) / 2.0]))


def residuals(problem: Problem, iterations: int, remainder: float = 1e-10) -> np.ndarray:
    """Norm of every sweep, (iterations,) float64, for either boundary and method.

    The boundary's column is split into the waves of its ring; each decays on its own, as above.
    remainder: the share of the column's energy that may be left out
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
    cosines = np.cos(2.0 * math.pi * chosen / ring.size)
    return _norms(_along_x(problem, cosines), iterations, energy[chosen])


def _along_x(problem: Problem, cosines: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(u, change) of every sweep for waves with these cosines (waves,): u (waves, nx) after it, change (waves, nx-2).

    change is what a plain sweep adds: the norm of either method.  The arrays are overwritten by the next sweep.
    """
    u, before = (np.zeros((cosines.size, problem.nx)) for _ in (0, 1))
    u[:, 0] = u[:, -1] = before[:, 0] = before[:, -1] = 1.0
    twice = 2.0 * cosines[:, None]
    for k in count():
        change = 0.25 * (u[:, 2:] + u[:, :-2] + twice * u[:, 1:-1]) - u[:, 1:-1]
        before[:, 1:-1] += spectrum.weight(problem, k) * (u[:, 1:-1] + change - before[:, 1:-1])
        u, before = before, u
        yield u, change


def _norms(sweeps: Iterator[tuple[np.ndarray, np.ndarray]], iterations: int, energy: np.ndarray) -> np.ndarray:
    """Norms (iterations,) of waves with these energies (waves,)."""
    norms = np.empty(iterations)
    for k in range(iterations):
        _, change = next(sweeps)
        norms[k] = math.sqrt(float(energy @ np.einsum("qi,qi->q", change, change)))
    return norms


def shape_along_x(problem: Problem, iterations: int) -> np.ndarray:
    """(nx,) float64: after so many sweeps with the boundary "periodic" the field is ``column`` times this, exactly."""
    u = np.zeros((1, problem.nx))
    u[:, 0] = u[:, -1] = 1.0
    sweeps = _along_x(problem, np.array([math.cos(2.0 * math.pi / (problem.ny - 2))]))
    for _ in range(iterations):
        u, _ = next(sweeps)
    return u[0]


def steady_along_x(nx: int, ny: int) -> np.ndarray:
    """(nx,) float64: what ``shape_along_x`` goes to."""
    k = math.acosh(2.0 - math.cos(2.0 * math.pi / (ny - 2)))
    middle = (nx - 1) / 2.0
    distance = np.abs(np.arange(nx) - middle)
    # cosh(k d) / cosh(k m), from decaying exponentials alone: either cosh may be too large for a float
    return np.exp(k * (distance - middle)) * (1.0 + np.exp(-2.0 * k * distance)) / (1.0 + math.exp(-2.0 * k * middle))


def steady_state(nx: int, ny: int) -> np.ndarray:
    """The solution (ny, nx) float64 for the boundary "periodic"."""
    return column(ny, "periodic", "float64")[:, None] * steady_along_x(nx, ny)[None, :]


def eigenmode_axes(nx: int, ny: int, p: int = 1, q: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """((ny,), (nx,)) float64 whose outer product is a field that every sweep multiplies by a number (``spectrum.py``).

    Zero on columns 0 and nx-1, periodic over the ring of ny-2 rows.  Angles are reduced as whole numbers.
    """
    along_x = np.sin(math.pi * (p * np.arange(nx) % (2 * nx - 2)) / (nx - 1))
    along_x[0] = along_x[-1] = 0.0
    along_y = np.cos(2.0 * math.pi * (q * (np.arange(ny) - 1) % (ny - 2)) / (ny - 2))
    return along_y, along_x


def eigenmode(nx: int, ny: int, p: int = 1, q: int = 1) -> np.ndarray:
    """The whole field (ny, nx) float64 of ``eigenmode_axes``."""
    along_y, along_x = eigenmode_axes(nx, ny, p, q)
    return along_y[:, None] * along_x[None, :]
