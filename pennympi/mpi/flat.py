"""The messages of a call as flat arrays on the team's device, copied where they are not.

What a rank's argument is beside its size, its op and its elements is its own affair: read-only or not, on a GPU or on the
host, in parts or by a derived datatype.  So it decides nothing, and a copy makes up for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI

from .message import Element, Message, Parts, is_bottom, is_on_gpu

BYTES = np.dtype("uint8")
_SELF = MPI.COMM_SELF  # under this name a program may put a Comm in its place


class Flat:
    """The arrays of one call.  ``put_back`` after it: results that were copied go where they belong.

    on_gpu: the team's device is one
    """

    def __init__(self, on_gpu: bool):
        self._on_gpu = on_gpu
        self._after: list[Callable[[], Any]] = []

    def source(self, message: Message, dtype: np.dtype = BYTES) -> Any:
        """What the call reads."""
        return self._array(message, dtype, True, False)

    def result(self, message: Message, dtype: np.dtype = BYTES) -> Any:
        """What the call writes."""
        return self._array(message, dtype, False, True)

    def both(self, message: Message, dtype: np.dtype = BYTES) -> Any:
        """What the call reads and writes."""
        return self._array(message, dtype, True, True)

    def parts(self, parts: Parts, reads: bool, writes: bool) -> tuple[Any, list[int], list[int]]:
        """An array of bytes, and the counts and starts in it."""
        element, counts = parts.element, [count * parts.element.size for count in parts.counts]
        if element.is_dense:
            starts = [start * element.size for start in parts.starts]
            end = max(
                (start + count for start, count in zip(parts.starts, parts.counts, strict=True) if count), default=0
            )
            return self._array(Message(parts.buffer, element, end), BYTES, reads or writes, writes), counts, starts
        buffer = self._host_buffer(parts.buffer, element, writes)
        temporary = np.empty(sum(counts), BYTES)
        starts = [sum(counts[:part]) for part in range(len(counts))]
        for count, at, n_bytes, start in zip(parts.counts, parts.starts, counts, starts, strict=True):
            self._pack(temporary[start : start + n_bytes], Message(buffer, element, count, at), reads, writes)
        return self._moved(temporary, reads, writes), counts, starts

    def put_back(self) -> None:
        """End the call."""
        while self._after:
            self._after.pop()()

    def _array(self, message: Message, dtype: np.dtype, reads: bool, writes: bool) -> Any:
        buffer, element, n_elems, start = message
        if type(buffer) is np.ndarray and not self._on_gpu and element.is_dense and buffer.flags.carray:  # mostly so
            if dtype is buffer.dtype and n_elems == buffer.size and not start:
                return buffer
            if (start + n_elems) * element.size <= buffer.nbytes:
                return np.ndarray(n_elems * element.size // dtype.itemsize, dtype, buffer, start * element.size)
        if message.n_bytes and is_on_gpu(buffer) and self._on_gpu and element.is_dense:
            flat = _on_device(buffer)[start * element.size :][: message.n_bytes]
            _check_length(flat.nbytes, message.n_bytes)
            return flat.view(dtype)
        buffer = self._host_buffer(buffer, element, writes)
        if element.is_dense:
            memory = _memory(buffer, writes)
            _check_length(memory.nbytes - start * element.size, message.n_bytes)
            flat = np.ndarray(message.n_bytes, BYTES, memory, start * element.size)
        else:
            flat = np.empty(message.n_bytes, BYTES)
            self._pack(flat, message._replace(buffer=buffer), reads, writes)
        return self._moved(flat.view(dtype), reads, writes)

    def _host_buffer(self, buffer: Any, element: Element, writes: bool) -> Any:
        """The buffer, or a copy on the host."""
        if not is_on_gpu(buffer):
            return buffer
        device = _on_device(buffer)
        host = device.get()
        if writes:
            self._after.append(lambda: device.set(host))
        return host

    def _pack(self, flat: np.ndarray, message: Message, reads: bool, writes: bool) -> None:
        """The bytes of a message whose elements have gaps: MPI copies it, and the result back."""
        packed, spec = [flat, MPI.BYTE], [message.buffer, message.n_elems, message.start, message.element.datatype]
        if reads:
            _SELF.Allgather(spec, packed)
        if writes:
            self._after.append(lambda: _SELF.Allgather(packed, spec))

    def _moved(self, flat: np.ndarray, reads: bool, writes: bool) -> Any:
        """An array of the host, or its copy on the team's GPU."""
        if not self._on_gpu:
            return flat
        import cupy

        device = cupy.asarray(flat) if reads else cupy.empty(flat.shape, flat.dtype)
        if writes:
            self._after.append(lambda: device.get(out=flat))
        return device


def _check_length(held: int, asked: int) -> None:
    """Raises ValueError."""
    if asked > held:
        raise ValueError(f"the message has {asked} bytes and its buffer {held} from its start on: give a larger buffer")


def _memory(buffer: Any, writes: bool) -> Any:
    """The memory of an array of the host, in mpi4py's own words where it has gaps or is read-only.  Raises its errors."""
    if is_bottom(buffer):
        return np.empty(0, BYTES)
    if isinstance(buffer, np.ndarray) and buffer.flags.f_contiguous:
        buffer = buffer.T  # as it lies, which mpi4py takes too
    return MPI.buffer.frombuffer(buffer, not writes)


def _on_device(buffer: Any) -> Any:
    """The bytes of an array on a GPU, as a flat array of CuPy."""
    import cupy

    memory = MPI.buffer.frombuffer(buffer, True)
    if not memory.nbytes:  # such an array has no address
        return cupy.empty(0, "uint8")
    held = cupy.cuda.UnownedMemory(memory.address, memory.nbytes, buffer)
    return cupy.ndarray((memory.nbytes,), "uint8", cupy.cuda.MemoryPointer(held, 0))
