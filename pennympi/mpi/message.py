"""A buffer argument of mpi4py, read as mpi4py reads it: an address, a count and an element type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import accumulate
from operator import index
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

from ..arrays.dlpack import CUDA, CUDA_MANAGED
from ..arrays.dtypes import DType, dtype_of
from ..errors import Unsupported

_DEVICE = (2, 3)  # cudaMemoryTypeDevice, cudaMemoryTypeManaged


class NotOurs(Exception):
    """MPI must do this call, or say what is wrong with it."""


class Message(NamedTuple):
    """array: the elements, flat, of NumPy or CuPy;  dtype: of an element;  device: whether they lie on a GPU"""

    array: Any
    dtype: DType
    device: bool

    @property
    def n(self) -> int:
        """Number of elements."""
        return int(self.array.size)

    @property
    def moved(self) -> Any:
        """The same bytes, for a collective that only moves them."""
        return self.array.view("uint8")

    def like(self, n: int) -> Message:
        """A new array of the same kind."""
        if not self.device:
            return self._replace(array=np.empty(n, self.dtype.numpy))
        import cupy

        return self._replace(array=cupy.empty(n, self.dtype.numpy))


class Parts(NamedTuple):
    """A message of a part for each rank.  counts, starts: in elements"""

    message: Message
    counts: list[int]
    starts: list[int]


def on_device(buffer: Any) -> bool:
    """Whether a buffer lies on a GPU, by its address: the CUDA array interface alone does not say so."""
    if isinstance(buffer, np.ndarray | bytes | bytearray | memoryview):
        return False
    if not hasattr(buffer, "__cuda_array_interface__"):
        device = getattr(buffer, "__dlpack_device__", None)
        if device is None or device()[0] not in (CUDA, CUDA_MANAGED):
            return False
    try:
        import cupy
    except ImportError:
        return False
    return cupy.cuda.runtime.pointerGetAttributes(MPI.buffer.frombuffer(buffer).address).type in _DEVICE


def any_on_device(args: Iterable[Any], named: Mapping[str, Any]) -> bool:
    """Whether the buffer in an argument of a method lies on a GPU."""
    return any(map(on_device, map(buffer_of, (*args, *named.values()))))


def current_stream() -> Any:
    """CuPy's current stream."""
    import cupy

    return cupy.cuda.get_current_stream()


def buffer_of(spec: Any) -> Any:
    """The array in an argument, which may be a list with its count and datatype."""
    return spec[0] if isinstance(spec, list | tuple) and spec else spec


def message_of(spec: Any, blocks: int = 1, writable: bool = False) -> Message:
    """``blocks`` equal parts, as mpi4py reads them.

    spec: x, [x, type], [x, count] or [x, count, type]; a count is of one part, and parts of x alone share it equally
    Raises NotOurs.
    """
    if not isinstance(spec, list | tuple):
        return _message(spec, None, None, blocks, writable)
    if not 2 <= len(spec) <= 3 or isinstance(spec[1], list | tuple):
        raise NotOurs
    has_type = len(spec) == 3 or isinstance(spec[1], MPI.Datatype)
    count = spec[1] if len(spec) == 3 or not has_type else None
    return _message(spec[0], count, spec[-1] if has_type else None, blocks, writable)


def parts_of(spec: Any, n_parts: int, writable: bool = False) -> Parts:
    """Parts of any length.  spec: [x, counts] or [x, (counts, starts)], and a type after either.  Raises NotOurs."""
    if not isinstance(spec, list | tuple) or not 2 <= len(spec) <= 3 or isinstance(spec[1], MPI.Datatype):
        raise NotOurs
    counts, starts = spec[1] if isinstance(spec[1], tuple) and len(spec[1]) == 2 else (spec[1], None)
    whole = _message(spec[0], None, spec[2] if len(spec) == 3 else None, 1, writable)
    try:
        counts = [index(one) for one in counts]
        starts = [0, *accumulate(counts[:-1])] if starts is None else [index(one) for one in starts]
    except TypeError:
        raise NotOurs from None
    if not n_parts == len(counts) == len(starts):
        raise NotOurs
    if not all(0 <= start <= start + count <= whole.n for start, count in zip(starts, counts, strict=True)):
        raise NotOurs
    return Parts(whole, counts, starts)


def _message(buffer: Any, count: Any, datatype: Any, blocks: int, writable: bool) -> Message:
    try:
        memory: Any = MPI.buffer.frombuffer(buffer)
        dtype = _dtype(buffer, datatype)
        n = memory.nbytes // dtype.item_bytes if count is None else index(count) * blocks
    except (TypeError, ValueError, BufferError, KeyError, Unsupported):
        raise NotOurs from None
    if writable and memory.readonly or n % blocks or not 0 <= n * dtype.item_bytes <= memory.nbytes:
        raise NotOurs
    if count is None and memory.nbytes % dtype.item_bytes:
        raise NotOurs
    if not on_device(buffer):
        return Message(np.frombuffer(memory, dtype.numpy, n) if n else np.empty(0, dtype.numpy), dtype, False)
    import cupy

    held = cupy.cuda.UnownedMemory(memory.address, memory.nbytes, buffer)
    return Message(cupy.ndarray((n,), dtype.numpy, cupy.cuda.MemoryPointer(held, 0)), dtype, True)


def _dtype(buffer: Any, datatype: Any) -> DType:
    """The element type.  Raises TypeError, KeyError, Unsupported, NotOurs."""
    if datatype is None:
        return dtype_of(buffer.dtype if hasattr(buffer, "dtype") else np.dtype(memoryview(buffer).format))
    if isinstance(datatype, str):
        datatype = MPI.Datatype.fromcode(datatype)
    if not datatype.is_predefined:
        raise NotOurs
    return dtype_of(np.dtype(datatype.typestr))
