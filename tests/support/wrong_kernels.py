"""Kernels that can't be compiled, each for a mistake that users of CUDA and NumPy make."""

from pennympi.kernels import block as primitives
from pennympi.kernels.block import lanes, store


def subscripts(ctx, y, n):
    for i in lanes(0, n):
        y[i] = 1.0


def subscripts_inside(ctx, y, n):
    for i in lanes(0, n):
        store(y, i, element(y, i))


def element(x, i):
    return x[i]


def without_a_value(ctx, y, n):
    for i in lanes(0, n):
        store(y, i)


def misspelt(ctx, y, n):
    for i in lanes(0, n):
        stor(y, i, 1.0)  # noqa: F821


def by_module(ctx, y, n):
    for i in lanes(0, n):
        primitives.store(y, i, 1.0)


def length(ctx, y, n):
    for i in lanes(0, len(y)):
        store(y, i, 1.0)


WRONG = [  # (kernel, what is said of it)
    (subscripts, "y[i] takes a number for an array"),
    (subscripts_inside, "x[i] takes a number for an array"),
    (without_a_value, "store(y, i) calls store(base, index, value), missing a required argument: 'value'"),
    (misspelt, "the name stor is not defined"),
    (by_module, "from pennympi.kernels.block import store"),
    (length, "len(int64)"),
]
