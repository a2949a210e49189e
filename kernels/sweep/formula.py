"""The call of the user's formula: kernels pass six neighbours, and the formula gets the neighbours of its dimensions."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ..block import Elements, load, store
from ..static import Static, static


class Stencil(NamedTuple):
    """A formula, and the grid and dtype for which kernels are compiled.

    formula: (point, neighbours by dimension, minus before plus, n_args numbers, coefficient) -> the point's new value
    n_dims:  number of dimensions of the grid;  dtype: dtype of its fields, "float32" or "float64"
    n_args:  number of numbers (``args``) that the formula takes after the neighbours
    has_coefficient: True if the last parameter is the value of a field of coefficients
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


def apply(stencil: Static[Stencil], point, neighbours, numbers, coefficient):
    """The new value of a point.

    neighbours:  (minus, plus) in each of the dimensions x, y, z; ignored in dimensions that the grid lacks
    numbers:     the tuple that ``read_numbers`` returned
    coefficient: coefficient at the point; ignored if the formula has none
    """
    x, y, z = neighbours
    used = x + y + z if stencil.n_dims == 3 else y + z if stencil.n_dims == 2 else z
    parameters = (*numbers, coefficient) if stencil.has_coefficient else numbers
    return stencil.formula(point, *used, *parameters)


def read_numbers(stencil: Static[Stencil], values):
    """The tuple of the formula's numbers, from the address of (n_args,) elements of the dtype."""
    return tuple(load(values, k) for k in static(stencil.n_args))


def apply_once(stencil: Static[Stencil], ctx, field: Elements, values: Elements):
    """A kernel that computes the formula once, to find its compile errors quickly."""
    point = load(field, 0)
    neighbours = (point, point), (point, point), (point, point)
    store(field, 0, apply(stencil, point, neighbours, read_numbers(stencil, values), point))
