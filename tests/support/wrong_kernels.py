"""Kernels that can't be compiled, each with a mistake that users of CUDA and NumPy make."""

from pennympi.kernels.block import lanes, store


def subscripts(ctx, y, n):
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


WRONG = [  # (kernel, the compiler's message)
    (subscripts, "getitem(int64, int64)"),
    (without_a_value, "store() missing 1 required positional argument: 'value'"),
    (misspelt, "name 'stor' is not defined"),
]
