"""The user's formula as kernels call it: with all six neighbours, of which a formula of fewer dimensions takes some."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from ..block import Elements, load, store


class Stencil(NamedTuple):
    """A formula and what it is compiled for.

    formula: (here, neighbours by dimension, minus before plus, n_args numbers, coefficient) -> the point's new value
    n_dims:  of the grid;  dtype: of its fields, "float32" or "float64"
    n_args:  numbers that it takes after the neighbours
    has_coefficient: whether the value of a field of coefficients comes last
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

    x, y, z: the neighbours (minus, plus) in each dimension; anything where the grid has no such dimension
    rest:    (what ``numbers_of(stencil)`` read, the coefficient at the point, or anything where there is none)
    """
    formula, n_dims, has_coefficient = stencil.formula, stencil.n_dims, stencil.has_coefficient

    # The conditions are constants of the closure, so that the compiler keeps one branch.
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
    """A kernel that computes the formula alone: element 0 from itself.

    Where it does not compile, the formula is wrong.  In a deep kernel the compiler would try each closure around the
    formula twice, one in the other, and take hours to say so.
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
        return read(values) + (load(values, k),)  # Numba has no other sum of tuples

    return more
