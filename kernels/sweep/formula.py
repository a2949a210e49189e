"""The user's formula as kernels call it: with six neighbours, of which one- and two-dimensional formulas take some."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from ..block import Elements, load, store


class Stencil(NamedTuple):
    """A formula, and the grid and dtype for which kernels are compiled.

    formula: (here, neighbours by dimension, minus before plus, n_args numbers, coefficient) -> the point's new value
    n_dims:  dimensions of the grid;  dtype: of its fields, "float32" or "float64"
    n_args:  how many numbers the formula takes after the neighbours
    has_coefficient: True if its last parameter is the value of a field of coefficients
    """

    formula: Callable[..., Any]
    n_dims: int
    dtype: str
    n_args: int
    has_coefficient: bool

    @property
    def item_bytes(self) -> int:
        """Bytes of an element."""
        return {"float32": 4, "float64": 8}[self.dtype]


@cache
def applied(stencil: Stencil) -> Callable[..., Any]:
    """``apply(here, x, y, z, rest)``: the new value of a point.

    x, y, z: the neighbours (minus, plus) in each dimension; ignored in dimensions that the grid lacks
    rest:    (the numbers that ``numbers_of(stencil)`` read, the coefficient at the point; ignored if there is none)
    """
    formula, n_dims, has_coefficient = stencil.formula, stencil.n_dims, stencil.has_coefficient

    # The conditions are constants of the closure: the compiler keeps one branch.
    def apply(here, x, y, z, rest):
        numbers, coefficient = rest
        if has_coefficient:
            if n_dims == 3:
                return formula(here, *x, *y, *z, *numbers, coefficient)
            if n_dims == 2:
                return formula(here, *y, *z, *numbers, coefficient)
            return formula(here, *z, *numbers, coefficient)
        if n_dims == 3:
            return formula(here, *x, *y, *z, *numbers)
        if n_dims == 2:
            return formula(here, *y, *z, *numbers)
        return formula(here, *z, *numbers)

    return apply


@cache
def value_of(stencil: Stencil) -> Callable[..., None]:
    """A kernel that computes the formula once, to find its compile errors quickly.

    In the kernel of a deep pass Numba tries each of the nested closures around a wrong formula twice: that takes hours.
    """
    apply, read = applied(stencil), numbers_of(stencil)

    def value(ctx, field: Elements, values: Elements):
        here = load(field, 0)
        store(field, 0, apply(here, (here, here), (here, here), (here, here), (read(values), here)))

    return value


@cache
def numbers_of(stencil: Stencil) -> Callable[[int], Any]:
    """``read(values)``: the tuple of the formula's numbers, from the address of (n_args,) elements of the dtype."""

    def nothing(values):
        return ()

    read = nothing
    for k in range(stencil.n_args):
        read = _one_more(read, k)
    return read


def _one_more(read: Callable[[int], Any], k: int) -> Callable[[int], Any]:
    def more(values):
        return read(values) + (load(values, k),)  # the only way in Numba to append to a tuple

    return more
