"""The messages of a call as flat arrays on one device, by copies where they lie elsewhere.

Each rank may pass its argument in a form of its own: read-only or not, on a GPU or on the host, in parts or of a derived
datatype.  So the form must not decide who runs the call: an array that the team can't take is copied.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI

from .message import Message, is_bottom, is_on_gpu

BYTES = np.dtype("uint8")
_SELF = MPI.COMM_SELF  # mpi4py's own object: a program may set this name to a Comm later


class Flat:
    """The arrays of one call.  ``put_back`` ends the call: it copies results to the memory of their arguments.

    on_gpu: True for arrays on CuPy's current device, False for the host
    """

    def __init__(self, on_gpu: bool):
        self._on_gpu = on_gpu
        self._copies_back: list[Callable[[], Any]] = []

    def source(self, message: Message, dtype: np.dtype = BYTES) -> Any:
        """The array that the call reads."""
        return self._array(message, dtype, True, False)

    def result(self, message: Message, dtype: np.dtype = BYTES) -> Any:
        """The array that the call writes."""
        return self._array(message, dtype, False, True)

    def updated(self, message: Message, dtype: np.dtype = BYTES) -> Any:
        """The array that the call reads and writes."""
        return self._array(message, dtype, True, True)

    def pair(self, x: Message | None, out: Message, dtype: np.dtype = BYTES) -> tuple[Any, Any]:
        """The arrays of a call with a source and a result.  x: message of the source; None if the call is in place"""
        if x is None:
            return MPI.IN_PLACE, self.updated(out, dtype)
        return self.source(x, dtype), self.result(out, dtype)

    def put_back(self) -> None:
        """End the call."""
        while self._copies_back:
            self._copies_back.pop()()

    def _array(self, message: Message, dtype: np.dtype, reads: bool, writes: bool) -> Any:
        buffer, element, n_elems, start, _ = message
        n_bytes, offset = n_elems * element.size, start * element.size
        if not element.is_dense:
            return self._moved(self._packed(message, reads, writes), False, message, reads, writes).view(dtype)
        if type(buffer) is np.ndarray and not self._on_gpu and buffer.flags.carray and offset + n_bytes <= buffer.nbytes:
            return np.ndarray(n_bytes // dtype.itemsize, dtype, buffer, offset)  # the usual case
        cupy = sys.modules.get("cupy")
        if cupy and type(buffer) is cupy.ndarray and self._on_gpu and buffer.flags.c_contiguous:
            if buffer.dtype is dtype and buffer.ndim == 1 and n_bytes == buffer.nbytes and not offset:
                return buffer
            if 0 < offset + n_bytes <= buffer.nbytes:
                return cupy.ndarray((n_bytes,), "uint8", buffer.data + offset).view(dtype)  # the usual case on a GPU
        on_gpu = is_on_gpu(buffer)
        memory = _bytes_on_gpu(buffer) if on_gpu else _bytes_on_host(buffer, writes)
        if offset + n_bytes > memory.nbytes:
            held = memory.nbytes - offset
            raise ValueError(
                f"the message has {n_bytes} bytes and its buffer {held} from its start on: give a larger buffer"
            )
        return self._moved(memory[offset : offset + n_bytes], on_gpu, message, reads, writes).view(dtype)

    def _packed(self, message: Message, reads: bool, writes: bool) -> np.ndarray:
        """The bytes of a message whose elements have gaps: MPI packs them, and ``put_back`` unpacks each part."""
        buffer, element, n_elems, start, _ = message
        flat = np.empty(n_elems * element.size, BYTES)
        if is_on_gpu(buffer):
            on_gpu = _bytes_on_gpu(buffer)
            buffer = on_gpu.get()
            if writes:
                self._copies_back.append(lambda: on_gpu.set(buffer))
        if reads:
            _SELF.Allgather([buffer, n_elems, start, element.datatype], [flat, MPI.BYTE])
        if writes:
            for count, first in message.parts or ((n_elems, start),):
                part = flat[(first - start) * element.size :][: count * element.size]
                spec = [buffer, count, first, element.datatype]
                self._copies_back.append(lambda part=part, spec=spec: _SELF.Allgather([part, MPI.BYTE], spec))  # type: ignore[misc]
        return flat

    def _moved(self, flat: Any, on_gpu: bool, message: Message, reads: bool, writes: bool) -> Any:
        """Bytes of the host or of a GPU, moved to this call's device; ``put_back`` copies a result back, part by part."""
        if on_gpu == self._on_gpu:
            return flat
        import cupy

        if on_gpu:
            moved = flat.get()
        else:
            moved = cupy.asarray(flat) if reads or message.parts else cupy.empty(flat.shape, flat.dtype)

        def put_back() -> None:
            starts, lengths = (message.part_starts, message.part_bytes) if message.parts else ([0], [flat.size])
            for start, n_bytes in zip(starts, lengths, strict=True):
                part = slice(start, start + n_bytes)
                if n_bytes and on_gpu:
                    flat[part].set(moved[part])
                elif n_bytes:
                    moved[part].get(out=flat[part])

        if writes:
            self._copies_back.append(put_back)
        return moved


def _bytes_on_host(buffer: Any, writes: bool) -> np.ndarray:
    """The bytes of a buffer of the host.  Raises mpi4py's errors, if it has gaps or is read-only."""
    if is_bottom(buffer):
        return np.empty(0, BYTES)
    if isinstance(buffer, np.ndarray) and buffer.flags.f_contiguous:
        buffer = buffer.T  # in the order of memory, as mpi4py takes it
    memory: Any = MPI.buffer.frombuffer(buffer, not writes)
    return np.ndarray(memory.nbytes, BYTES, memory)


def _bytes_on_gpu(buffer: Any) -> Any:
    """A flat array of CuPy over the memory of an array on a GPU."""
    import cupy

    memory = MPI.buffer.frombuffer(buffer, True)
    if not memory.nbytes:  # such an array has no address
        return cupy.empty(0, "uint8")
    held = cupy.cuda.UnownedMemory(memory.address, memory.nbytes, buffer)
    return cupy.ndarray((memory.nbytes,), "uint8", cupy.cuda.MemoryPointer(held, 0))
