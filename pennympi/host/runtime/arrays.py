"""The objects that the host backend accepts as arrays."""

import ctypes
from typing import Any

import numpy as np
from mpi4py.MPI import IN_PLACE
from numpy import ndarray

from ...arrays import dlpack, mpi_buffer
from ...arrays.array_view import PLAIN, ArrayView, not_an_array, not_contiguous, not_in_place
from ...arrays.dtypes import DType, dtype_of

_addressof, _at_start = ctypes.addressof, (ctypes.c_char * 0).from_buffer


def array_view(x: Any, writable: bool) -> ArrayView:
    """Describe an array in host memory: NumPy, a buffer, DLPack on the CPU, or one of these in an MPI buffer.

    Raises TypeError (not an array), ValueError (device memory, not contiguous, read-only).
    """
    if type(x) is np.ndarray:
        try:  # from_buffer refuses arrays that are read-only or not contiguous, which is faster than to read the flags
            return ArrayView(_addressof(_at_start(x)), x.size, dtype_of(x.dtype), x)  # type: ignore[arg-type]
        except (TypeError, ValueError, BufferError):
            pass
    elif not isinstance(x, np.ndarray):
        if hasattr(x, "__cuda_array_interface__"):
            raise ValueError(
                f"{type(x).__name__} lies in device memory and this team runs on the host backend: "
                "copy it with cupy.asnumpy, or init(backend='cuda')"
            )
        if x is IN_PLACE:
            raise not_in_place()
        if hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__"):
            return ArrayView(*dlpack.read(x, writable, (dlpack.CPU,)), x)
        if isinstance(x, list | tuple):
            return mpi_buffer.array_view(x, lambda array: array_view(array, writable))
        try:
            if isinstance(x, np.generic):
                raise TypeError  # it is a number, although it has a buffer
            x = np.asarray(memoryview(x))
        except TypeError:
            raise not_an_array(x, "an array: pass a NumPy array, a buffer, or an object with __dlpack__") from None
    if not x.flags.c_contiguous:
        raise not_contiguous("the array", "numpy.ascontiguousarray(x)", writable)
    if writable and not x.flags.writeable:
        raise ValueError("the array is read-only, and the call writes to it: pass a copy")
    return ArrayView(address_of(x), x.size, dtype_of(x.dtype), x)


def call_key(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Key of a call for the results of its check: address, count and dtype of each array, and the other arguments.

    None if an argument is neither a NumPy array that is contiguous and writable, nor a str, int or None.
    """
    key: tuple[Any, ...] = ()
    try:
        for arg in args:
            kind = type(arg)
            if kind is ndarray:
                key += (_addressof(_at_start(arg)), arg.size, arg.dtype)
            elif kind in PLAIN:
                key += (arg,)
            else:
                return None
    except (TypeError, ValueError, BufferError):
        return None
    return key


def new(shape: tuple[int, ...], dtype: DType, stream: int) -> np.ndarray:
    """An array for a result; its elements are not set."""
    return np.empty(shape, dtype.numpy)


def address_of(x: np.ndarray) -> int:
    """Address of the first element of a contiguous array (``x.ctypes.data`` takes four times as long)."""
    try:
        return _addressof(_at_start(x))  # type: ignore[arg-type]
    except (TypeError, ValueError):  # the array is read-only, or Python's buffers do not know its dtype
        return int(x.__array_interface__["data"][0])
