"""The user's formula as kernels call it: with six neighbours, of which one- and two-dimensional formulas take some."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ..block import Elements, load, store
from ..static import Static, static


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


def apply(stencil: Static[Stencil], here, neighbours, numbers, coefficient):
    """The new value of a point.

    neighbours:  (minus, plus) in each of the dimensions x, y, z; ignored in dimensions that the grid lacks
    numbers:     those that ``read_numbers`` returned
    coefficient: the coefficient at the point; ignored if there is none
    """
    x, y, z = neighbours
    beside = x + y + z if stencil.n_dims == 3 else y + z if stencil.n_dims == 2 else z
    rest = (*numbers, coefficient) if stencil.has_coefficient else numbers
    return stencil.formula(here, *beside, *rest)


def read_numbers(stencil: Static[Stencil], values):
    """The tuple of the formula's numbers, from the address of (n_args,) elements of the dtype."""
    return tuple(load(values, k) for k in static(stencil.n_args))


def apply_once(stencil: Static[Stencil], ctx, field: Elements, values: Elements):
    """A kernel that computes the formula once, to find its compile errors quickly."""
    here = load(field, 0)
    neighbours = (here, here), (here, here), (here, here)
    store(field, 0, apply(stencil, here, neighbours, read_numbers(stencil, values), here))
