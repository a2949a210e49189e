"""Which objects the host backend takes as arrays."""

import ctypes
from typing import Any

import numpy as np

from ..arrays import dlpack
from ..arrays.dtypes import dtype_of
from ..arrays.span import Span

_addressof, _at_start = ctypes.addressof, (ctypes.c_char * 0).from_buffer


def span(x: Any, writable: bool) -> Span:
    """Describe an array in host memory: NumPy, a buffer, or DLPack on the CPU.

    Raises TypeError (not an array), ValueError (device memory, not contiguous, read-only).
    """
    if type(x) is np.ndarray:
        try:  # this refuses what is read-only or not contiguous, faster than a look at the flags
            return Span(_addressof(_at_start(x)), x.size, dtype_of(x.dtype), x)  # type: ignore[arg-type]
        except (TypeError, ValueError, BufferError):
            pass
    elif not isinstance(x, np.ndarray):
        if hasattr(x, "__cuda_array_interface__"):
            raise ValueError(
                f"{type(x).__name__} lies in device memory and this team runs on the host backend: "
                "copy it with cupy.asnumpy, or init(backend='cuda')"
            )
        if hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__"):
            return Span(*dlpack.read(x, writable, (dlpack.CPU,)), x)
        try:
            x = np.asarray(memoryview(x))
        except TypeError:
            raise TypeError(
                f"{type(x).__name__} is not an array: give a NumPy array, a buffer, or an object with __dlpack__"
            ) from None
    if not x.flags.c_contiguous:
        raise ValueError("the array is not contiguous: pass numpy.ascontiguousarray(x)")
    if writable and not x.flags.writeable:
        raise ValueError("the array is read-only, and the call writes to it: pass a copy")
    return Span(address_of(x), x.size, dtype_of(x.dtype), x)


def address_of(x: np.ndarray) -> int:
    """Address of the first element of a contiguous array (``x.ctypes.data`` takes four times as long)."""
    try:
        return _addressof(_at_start(x))  # type: ignore[arg-type]
    except (TypeError, ValueError):  # read-only, or a dtype that Python's buffers do not know
        return int(x.__array_interface__["data"][0])
