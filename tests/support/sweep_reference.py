"""Sweeps of a formula on the whole grid by NumPy, and their norms; both bit for bit."""

from collections.abc import Callable
from ctypes import CDLL, c_double, c_float
from ctypes.util import find_library
from functools import cache
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numba import vectorize

from pennympi.kernels.block import real
from pennympi.kernels.in_kernel.exact import BIN_BITS, BINS, LIMIT, TOP_BIT, SumWords
from pennympi.kernels.sweep.formula import Stencil
from pennympi.kernels.sweep.norm import GROUP_BYTES, WINDOW, norm_of

MATH = CDLL(find_library("m"))


@cache
def fused(dtype):
    """``multiply_add`` of the C library for floats of a dtype, or arrays of them."""
    number, function = (c_float, MATH.fmaf) if dtype == "float32" else (c_double, MATH.fma)
    function.argtypes, function.restype = [number] * 3, number
    return vectorize([f"{dtype}({dtype}, {dtype}, {dtype})"])(lambda x, y, z: function(x, y, z))


def multiply_add(x, y, z):
    """x * y + z of NumPy's floats of one dtype, or arrays of them, rounded once."""
    return fused(np.asarray(x).dtype.name)(x, y, z)


def group_values(changes, first=0):
    """(..., groups): values of the groups of changes (..., n), which begin at point ``first`` of the grid."""
    n = GROUP_BYTES // changes.itemsize
    before = first % n
    x = np.pad(changes, [(0, 0)] * (changes.ndim - 1) + [(before, -(before + changes.shape[-1]) % n)])
    x = x.reshape(*x.shape[:-1], -1, 2, n // 2)
    with np.errstate(all="ignore"):
        half = x[..., 0] * x[..., 0]
        for k in range(1, n // 2):
            half = multiply_add(x[..., k], x[..., k], half)
        return half[..., 0] + half[..., 1]


def words_of(values):
    """The words of the exact sum of values."""
    rest, words = values.astype("float64").reshape(-1), []
    if not (rest <= LIMIT).all():
        return SumWords(*[0] * BINS, 1)
    for k in range(BINS):
        unit = 2.0 ** (TOP_BIT - BIN_BITS * k)
        parts = np.rint(rest / unit)
        words.append(int(parts.sum()))
        rest -= parts * unit
    top = next((k for k, word in enumerate(words) if word), 0)
    return SumWords(*(word if top <= k < top + WINDOW else 0 for k, word in enumerate(words)), 0)


def norm_of_changes(changes):
    """The norm of the changes of all points of a grid."""
    return norm_of(words_of(group_values(changes)))


def laplace(u, x_minus, x_plus, y_minus, y_plus):
    return real(0.25) * (((y_plus + y_minus) + x_plus) + x_minus)


def diffuse(u, x_minus, x_plus, rate, kappa):
    return u + rate * kappa * ((x_minus - u) + (x_plus - u))


def diffuse_2d(u, x_minus, x_plus, y_minus, y_plus, rate, kappa):
    return u + rate * kappa * ((((x_minus + x_plus) + y_minus) + y_plus) - real(4.0) * u)


def average(u, x_minus, x_plus):
    return real(0.5) * (x_minus + x_plus)


def heat(u, x_minus, x_plus, y_minus, y_plus, z_minus, z_plus):
    return real(0.125) * ((((x_minus + x_plus) + (y_minus + y_plus)) + (z_minus + z_plus)) + (u + u))


def skewed(u, x_minus, x_plus, y_minus, y_plus, z_minus, z_plus, a, b, kappa):
    sum_of_x = u * a + x_minus * b - x_plus * kappa
    return sum_of_x + (y_minus - y_plus * kappa) / (real(2.0) + z_minus * z_minus) - z_plus * b


class Formula(NamedTuple):
    """A formula, with a coefficient if it has numbers.  dtype: dtype of most tests, since each dtype is a kernel"""

    step: Callable[..., Any]
    n_dims: int
    numbers: tuple[float, ...]
    dtype: str

    def stencil(self, dtype=""):
        return Stencil(self.step, self.n_dims, dtype or self.dtype, len(self.numbers), bool(self.numbers))


FORMULAS = {
    "1-D": Formula(average, 1, (), "float32"),
    "1-D with coefficient": Formula(diffuse, 1, (0.3,), "float64"),
    "2-D": Formula(laplace, 2, (), "float32"),
    "2-D with coefficient": Formula(diffuse_2d, 2, (0.2,), "float64"),
    "3-D": Formula(heat, 3, (), "float32"),
    "3-D with all": Formula(skewed, 3, (0.5, -0.25), "float64"),
}


def in_numpy(formula, dtype):
    """The formula over NumPy arrays of the dtype."""
    return FunctionType(formula.__code__, {**formula.__globals__, "real": np.dtype(dtype).type})


def stepped(formula, dtype, u, inside, numbers, coefficient):
    """New values of points of u, whose last dimensions are the grid's.  inside: slices;  coefficient: an array or None"""
    n_neighbours = formula.__code__.co_argcount - 1 - len(numbers) - (coefficient is not None)
    neighbours = []
    for d in range(u.ndim - n_neighbours // 2, u.ndim):
        for k in (-1, 1):
            neighbours.append(u[(*inside[:d], slice(inside[d].start + k, inside[d].stop + k), *inside[d + 1 :])])
    constants = [np.dtype(dtype).type(number) for number in numbers] + ([] if coefficient is None else [coefficient])
    return in_numpy(formula, dtype)(u[inside], *neighbours, *constants)


def swept(formula, u, periodic, sweeps, numbers=(), coefficient=None):
    """(field, norm of each sweep) after the sweeps.  u: whole grid with a boundary point at each end (shape + 2)."""
    inner = tuple(slice(1, n - 1) for n in u.shape)
    norms = []
    u = u.copy()
    for _ in range(sweeps):
        for d, wraps in enumerate(periodic):
            if wraps:
                ends = np.moveaxis(u, d, 0)
                ends[0], ends[-1] = ends[-2], ends[1]
        new = stepped(formula, u.dtype, u, inner, numbers, coefficient)
        assert new.dtype == u.dtype
        norms.append(norm_of_changes(new - u[inner]))
        u[inner] = new
    return u[inner], np.array(norms)
