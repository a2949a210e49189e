"""Buffers in mpi4py's form: [x, MPI.DOUBLE], or [x, count, MPI.DOUBLE] for the first elements of x."""

from collections.abc import Callable
from typing import Any

from mpi4py import MPI

from .array_view import ArrayView
from .dtypes import is_int


def array_view(buffer: list[Any] | tuple[Any, ...], array_view_of: Callable[[Any], ArrayView]) -> ArrayView:
    """Describe the array in a buffer by ``array_view_of``.

    Raises TypeError (not such a buffer), ValueError (the count is outside the array, or the type is not the array's).
    """
    if not 2 <= len(buffer) <= 3 or not isinstance(buffer[-1], MPI.Datatype):
        raise TypeError(
            f"a {type(buffer).__name__} is not an array: give an array, [x, MPI.DOUBLE] or [x, count, MPI.DOUBLE]"
        )
    view, datatype, count = array_view_of(buffer[0]), buffer[-1], buffer[1] if len(buffer) == 3 else None
    if datatype.typestr != view.dtype.numpy.str[1:]:  # without the byte order, which is that of this machine
        raise ValueError(
            f"the array has elements of {view.dtype.name}, which are not {datatype.name}: give the array alone"
        )
    if count is not None:
        if not is_int(count):
            raise TypeError(f"count {count!r} is not an int; for a displacement give a slice of the array")
        if not 0 <= count <= view.count:
            raise ValueError(f"count {count} is outside the array of {view.count} elements")
        view.count = int(count)
    return view
