"""Which objects the host backend takes as arrays."""

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
    """Describe an array in host memory: NumPy, a buffer, DLPack on the CPU, or one of them in an MPI buffer.

    Raises TypeError (not an array), ValueError (device memory, not contiguous, read-only).
    """
    if type(x) is np.ndarray:
        try:  # this refuses what is read-only or not contiguous, faster than a look at the flags
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
                raise TypeError  # a number, though it lets itself be read
            x = np.asarray(memoryview(x))
        except TypeError:
            raise not_an_array(x, "an array: give a NumPy array, a buffer, or an object with __dlpack__") from None
    if not x.flags.c_contiguous:
        raise not_contiguous("the array", "numpy.ascontiguousarray(x)", writable)
    if writable and not x.flags.writeable:
        raise ValueError("the array is read-only, and the call writes to it: pass a copy")
    return ArrayView(address_of(x), x.size, dtype_of(x.dtype), x)


def facts(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """What the check of a call depends on: address, count and dtype of each array, and the other arguments.

    None where an argument is neither a NumPy array that ``view`` takes at once, nor a str, int or None.
    """
    found: tuple[Any, ...] = ()
    try:
        for arg in args:
            kind = type(arg)
            if kind is ndarray:
                found += (_addressof(_at_start(arg)), arg.size, arg.dtype)
            elif kind in PLAIN:
                found += (arg,)
            else:
                return None
    except (TypeError, ValueError, BufferError):
        return None
    return found


def new(shape: tuple[int, ...], dtype: DType, stream: int) -> np.ndarray:
    """An array that is not set, for a result."""
    return np.empty(shape, dtype.numpy)


def address_of(x: np.ndarray) -> int:
    """Address of the first element of a contiguous array (``x.ctypes.data`` takes four times as long)."""
    try:
        return _addressof(_at_start(x))  # type: ignore[arg-type]
    except (TypeError, ValueError):  # read-only, or a dtype that Python's buffers do not know
        return int(x.__array_interface__["data"][0])
