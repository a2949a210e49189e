"""A buffer argument of mpi4py, read as mpi4py reads it: as a flat array of NumPy or CuPy over the same memory."""

from __future__ import annotations

from itertools import accumulate
from mmap import mmap
from operator import add, index
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

from ..arrays.dlpack import CUDA, CUDA_MANAGED
from ..arrays.dtypes import ALL, dtype_of
from ..errors import Unsupported

# What reading raises, and the team before it sends anything, where MPI must do a call or say what is wrong with it.
NOT_OURS = (TypeError, ValueError, LookupError, BufferError, Unsupported)
_DTYPES = {dtype.numpy for dtype in ALL.values()}
_NUMPY_OF: dict[int, np.dtype] = {}  # by the handle of a predefined datatype
_SPECS = (list, tuple)  # quicker than their union
_ON_HOST = {np.ndarray, bytearray, bytes, mmap}
_memory_of: Any = MPI.buffer.frombuffer
_handle_of = MPI._handleof
_DEVICE = (2, 3)  # cudaMemoryTypeDevice, cudaMemoryTypeManaged


class Parts(NamedTuple):
    """A message of a part for each rank.  counts, starts: in elements"""

    array: Any
    counts: list[int]
    starts: list[int]


def buffer_of(spec: Any) -> Any:
    """The array in an argument, which may be a list with its count and datatype."""
    return spec[0] if isinstance(spec, _SPECS) and spec else spec


def is_on_gpu(spec: Any) -> bool:
    """Whether the array in an argument lies on a GPU, by DLPack or its address: CUDA's interface does not say it."""
    buffer = buffer_of(spec)
    if type(buffer) in _ON_HOST or isinstance(buffer, np.ndarray):
        return False
    if hasattr(buffer, "__dlpack_device__"):
        return buffer.__dlpack_device__()[0] in (CUDA, CUDA_MANAGED)
    if not hasattr(buffer, "__cuda_array_interface__"):
        return False
    try:
        import cupy
    except ImportError:
        return False
    return cupy.cuda.runtime.pointerGetAttributes(MPI.buffer.frombuffer(buffer).address).type in _DEVICE


def is_in_place(buffer: Any) -> bool:
    """mpi4py takes None for MPI.IN_PLACE."""
    return buffer is None or isinstance(buffer, MPI.InPlaceType)


def array_of(spec: Any, n_parts: int = 1, writable: bool = False) -> Any:
    """``n_parts`` equal parts.  Raises NOT_OURS.

    spec: x, [x, type], [x, count] or [x, count, type]; a count is of one part, and parts of x alone share it equally
    """
    if type(spec) is np.ndarray and spec.flags.carray and spec.dtype in _DTYPES and not spec.size % n_parts:
        return spec.reshape(-1)  # the common case, in a quarter of the time
    if not isinstance(spec, list | tuple):
        return _array(spec, None, None, n_parts, writable)
    if len(spec) == 3:
        buffer, count, datatype = spec
        if type(buffer) in _ON_HOST and type(count) is int and type(datatype) is MPI.Datatype:
            dtype = _NUMPY_OF.get(_handle_of(datatype))
            if dtype is not None:  # also common; NumPy compares the sizes
                return np.ndarray(count * n_parts, dtype, _memory_of(buffer))
    elif isinstance(spec[1], MPI.Datatype):
        (buffer, datatype), count = spec, None
    else:
        (buffer, count), datatype = spec, None
    return _array(buffer, count, datatype, n_parts, writable)


def at_least(spec: Any, n_bytes: int, n_parts: int = 1) -> Any:
    """``array_of``.  Raises NOT_OURS, also where the message is smaller."""
    x = array_of(spec, n_parts)
    check(x.nbytes >= n_bytes)
    return x


def is_small(buffer: Any, n_bytes: int, comm: MPI.Comm | None = None) -> bool:
    """Whether a message is certainly of the host and smaller.

    buffer: not an array of NumPy;  comm: a count in it is of one rank's part
    """
    if not (type(buffer) is list or type(buffer) is tuple) or not buffer or type(buffer[0]) not in _ON_HOST:
        return False
    if len(buffer) == 3 and type(buffer[1]) is int and type(buffer[2]) is MPI.Datatype:
        return buffer[1] * (comm.size if comm else 1) * buffer[2].size < n_bytes
    return (buffer[0].nbytes if type(buffer[0]) is np.ndarray else len(buffer[0])) < n_bytes


def sent_or_own(sendbuf: Any, out: np.ndarray, comm: MPI.Intracomm) -> np.ndarray:
    """What an Allgather sends; in place, this rank's part of ``out``.  Raises NOT_OURS."""
    if sendbuf is not MPI.IN_PLACE:
        return array_of(sendbuf)
    check(out.flags.c_contiguous)
    n = out.size // comm.size
    return out.reshape(-1)[comm.rank * n : comm.rank * n + n]


def parts_of(spec: Any, n_parts: int, writable: bool = False) -> Parts:
    """Parts of any length.  spec: [x, counts] or [x, (counts, starts)], and a type after either.  Raises NOT_OURS."""
    check(isinstance(spec, list | tuple) and 2 <= len(spec) <= 3)
    counts, starts = spec[1] if isinstance(spec[1], tuple) and len(spec[1]) == 2 else (spec[1], None)
    counts = [index(one) for one in counts]
    starts = [0, *accumulate(counts[:-1])] if starts is None else [index(one) for one in starts]
    check(n_parts == len(counts) == len(starts) and min(*counts, *starts) >= 0)
    end = max(map(add, starts, counts))
    return Parts(_array(spec[0], end, spec[2] if len(spec) == 3 else None, 1, writable), counts, starts)


def check(holds: bool) -> None:
    """Raises ValueError if not."""
    if not holds:
        raise ValueError


def _array(buffer: Any, count: Any, datatype: Any, n_parts: int, writable: bool) -> Any:
    memory = _memory_of(buffer)
    if datatype is None:
        dtype = dtype_of(buffer.dtype if hasattr(buffer, "dtype") else np.dtype(memoryview(buffer).format)).numpy
    else:
        dtype = _numpy_of(MPI.Datatype.fromcode(datatype) if isinstance(datatype, str) else datatype)
    if count is None:
        n, rest = divmod(memory.nbytes, dtype.itemsize)
        check(rest == n % n_parts == 0)
    else:
        n = index(count) * n_parts
        check(0 <= n * dtype.itemsize <= memory.nbytes)
    check(not (writable and memory.readonly))
    if type(buffer) in _ON_HOST or not is_on_gpu(buffer):
        return np.ndarray(n, dtype, memory)
    import cupy

    if not memory.nbytes:
        return cupy.empty(n, dtype)
    held = cupy.cuda.UnownedMemory(memory.address, memory.nbytes, buffer)
    return cupy.ndarray((n,), dtype, cupy.cuda.MemoryPointer(held, 0))


def _numpy_of(datatype: MPI.Datatype) -> np.dtype:
    """NumPy's dtype of a predefined datatype."""
    handle = _handle_of(datatype)
    if handle not in _NUMPY_OF:
        check(datatype.is_predefined)
        _NUMPY_OF[handle] = dtype_of(np.dtype(datatype.typestr)).numpy
    return _NUMPY_OF[handle]
