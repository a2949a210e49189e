"""Sweeps of a formula by NumPy, on the whole grid."""

from types import FunctionType

import numpy as np

from pennympi.kernels.block import real


def laplace(here, south, north, west, east):
    return real(0.25) * (((east + west) + north) + south)


def diffuse(here, low, high, rate, kappa):
    return here + rate * kappa * ((low - here) + (high - here))


def diffuse_2d(here, south, north, west, east, rate, kappa):
    return here + rate * kappa * ((((south + north) + west) + east) - real(4.0) * here)


def average(here, low, high):
    return real(0.5) * (low + high)


def heat(here, before, after, above, below, left, right):
    return real(0.125) * ((((before + after) + (above + below)) + (left + right)) + (here + here))


def skewed(here, before, after, above, below, left, right, a, b, kappa):
    return (here * a + before * b - after * kappa) + (above - below * kappa) / (real(2.0) + left * left) - right * b


def in_numpy(formula, dtype):
    """The formula over NumPy arrays of the dtype."""
    return FunctionType(formula.__code__, {**formula.__globals__, "real": np.dtype(dtype).type})


def swept(formula, u, periodic, sweeps, numbers=(), coefficient=None):
    """(field, norm of each sweep) after the sweeps.  u: whole grid with one fixed point beyond each end (shape + 2)."""
    apply, dtype = in_numpy(formula, u.dtype), u.dtype.type
    inner = (slice(1, -1),) * u.ndim
    rest = [dtype(one) for one in numbers] + ([] if coefficient is None else [coefficient])
    norms = []
    u = u.copy()
    for _ in range(sweeps):
        for d, wraps in enumerate(periodic):
            if wraps:
                ends = np.moveaxis(u, d, 0)
                ends[0], ends[-1] = ends[-2], ends[1]
        beside = [np.moveaxis(np.moveaxis(u, d, 0)[k : k + u.shape[d] - 2], 0, d) for d in range(u.ndim) for k in (0, 2)]
        every = [one[tuple(slice(None) if n == s - 2 else slice(1, -1) for n, s in zip(one.shape, u.shape, strict=True))]
                 for one in beside]  # fmt: skip
        new = apply(u[inner], *every, *rest)
        assert new.dtype == u.dtype
        norms.append(np.sqrt(((new - u[inner]).astype("f8") ** 2).sum()))
        u[inner] = new
    return u[inner], np.array(norms)
