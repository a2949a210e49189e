"""Answers that are known without solving the grid."""

import math

import numpy as np

from .boundary import column
from .problem import Problem


def residuals_one_mode(nx: int, ny: int, iterations: int) -> np.ndarray:
    """Norm of every sweep for NVIDIA's boundary, (iterations,) float64, in O(nx) a sweep.

    The boundary is taken for one sine of period ny-1, which separates: along x each sweep is
    u_i <- (u_{i+1} + u_{i-1} + 2 cos(theta) u_i) / 4.  The ring has ny-2 rows, so this is
    exact at iteration 0 only and good for large ny (1e-5 at 1024 rows and 300 sweeps).
    """
    theta = 2.0 * math.pi / (ny - 1)
    return _histories(nx, iterations, np.array([math.cos(theta)]), np.array([(ny - 1) / 2.0]))


def residuals(problem: Problem, iterations: int, remainder: float = 1e-10) -> np.ndarray:
    """Norm of every sweep, (iterations,) float64, for either boundary.

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
    return _histories(problem.nx, iterations, np.cos(2.0 * math.pi * chosen / ring.size), energy[chosen])


def _histories(nx: int, iterations: int, cosines: np.ndarray, energy: np.ndarray) -> np.ndarray:
    """Norms of waves whose sweeps along x use these cosines: (waves,) each; u (waves, nx)."""
    u = np.zeros((cosines.size, nx))
    u[:, 0] = u[:, -1] = 1.0
    twice = 2.0 * cosines[:, None]
    norms = np.empty(iterations)
    for k in range(iterations):
        change = 0.25 * (u[:, 2:] + u[:, :-2] + twice * u[:, 1:-1]) - u[:, 1:-1]
        u[:, 1:-1] += change
        norms[k] = math.sqrt(float(energy @ np.einsum("qi,qi->q", change, change)))
    return norms


def eigenmode(nx: int, ny: int, p: int = 1, q: int = 1) -> tuple[np.ndarray, float]:
    """A field (ny, nx) float64 that a sweep multiplies by a number, and that number.

    Zero on columns 0 and nx-1, periodic over the ring of ny-2 rows.
    """
    along_x = np.sin(p * math.pi * np.arange(nx) / (nx - 1))
    along_x[0] = along_x[-1] = 0.0
    along_y = np.cos(2.0 * math.pi * q * (np.arange(ny) - 1) / (ny - 2))
    factor = (math.cos(p * math.pi / (nx - 1)) + math.cos(2.0 * math.pi * q / (ny - 2))) / 2.0
    return along_y[:, None] * along_x[None, :], factor


def steady_state(nx: int, ny: int) -> np.ndarray:
    """The solution (ny, nx) float64 for the boundary "periodic"."""
    k = math.acosh(2.0 - math.cos(2.0 * math.pi / (ny - 2)))
    middle = (nx - 1) / 2.0
    along_x = np.cosh(k * (np.arange(nx) - middle)) / math.cosh(k * middle)
    return column(ny, "periodic", "float64")[:, None] * along_x[None, :]
