"""The symmetric heap: memory of each node that its PEs map, with a part for each PE, of the same size on all nodes."""

import ctypes
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ...arrays.dtypes import DType
from ...compile.context import UNREACHABLE
from ...errors import SymmetricHeapExhausted
from ...job.job import Job
from ...job.memory_room import room_bytes
from ...job.shared_memory import SharedMemory
from ...memory.freelist import FreeList, aligned
from ...settings import setting
from ...state import state
from ...units import size_text
from . import arrays

DEFAULT_BYTES = 1 << 30  # default size of a PE's part, if the node has twice as much memory for each PE
STEP_BYTES = 1 << 20  # pages are reserved in multiples of this size, and by at least a quarter of the reserved size
CHECKED_BYTES = 64 << 20  # a growth of the node's memory by this size or more is checked against the free memory
REMEDY = "ask for less by init(heap_bytes=...) or PENNYMPI_SYMMETRIC_SIZE, or run fewer PEs on this node"


class Heap:
    """Memory of a team (``pennympi.backend.Heap``).  The constructor and ``allocate`` are collective.

    size_bytes:   size of each PE's part
    base:         address of this PE's part
    peer_offsets: differences between the addresses of each PE's part and this PE's part; UNREACHABLE on other nodes
    All PEs take the pages of an allocation, or no PE does.
    """

    def __init__(self, job: Job, heap_bytes: int | None):
        self._job = job
        request, free_bytes = heap_bytes or setting("PENNYMPI_SYMMETRIC_SIZE"), min(self._gather(self._room_bytes()))
        if request and request > free_bytes:
            raise SymmetricHeapExhausted(request, free_bytes, REMEDY)
        part_bytes = request or min(DEFAULT_BYTES, free_bytes // 2)
        self._memory = SharedMemory(self._gather, job.me, job.control.pes, part_bytes, "a symmetric heap", whole=False)
        self.size_bytes, self.base = self._memory.part_bytes, self._memory.address
        self.peer_offsets = [UNREACHABLE] * job.n_pes
        for pe, address in zip(job.control.pes, self._memory.addresses, strict=True):
            self.peer_offsets[pe] = address - self.base
        self._free, self._reserved_bytes = FreeList(self.size_bytes), 0
        self._words: dict[int, np.ndarray] = {}  # {address: words}
        state.heaps.append(self)

    def _room_bytes(self) -> int:
        """Bytes that a PE of this machine may still take."""
        return room_bytes() // len(self._job.control.machine_pes)

    def _gather(self, data: Any) -> list[Any]:
        return self._job.gather(data, "growth of the symmetric heap")

    def allocate(self, nbytes: int) -> int:
        """Allocate ``nbytes`` symmetric bytes and return their address.  Collective.  Raises SymmetricHeapExhausted."""
        offset = self._free.take(nbytes)
        if offset is None:
            raise SymmetricHeapExhausted(
                nbytes,
                self._free.free_bytes,
                "free arrays, or ask for more by init(heap_bytes=...) or PENNYMPI_SYMMETRIC_SIZE",
            )
        try:
            self._reserve(offset + aligned(nbytes), nbytes)
        except SymmetricHeapExhausted:
            self._free.release(offset)
            raise
        return self.base + offset

    def _reserve(self, end: int, nbytes: int) -> None:
        """Take the pages up to offset ``end``, on all PEs or on none.  Collective, since all PEs allocate alike."""
        start = self._reserved_bytes
        if end <= start:
            return
        goal = min(self.size_bytes, max(-(-end // STEP_BYTES) * STEP_BYTES, start + start // 4))
        if (goal - start) * self._job.n_pes >= CHECKED_BYTES:  # Linux grants memory it does not have, and kills later
            room = min(self._gather(self._room_bytes()))
            goal = max(end, min(goal, start + room))
            if goal - start > room:
                raise SymmetricHeapExhausted(nbytes, room, f"the node has no more memory; {REMEDY}")
        problems = self._gather(self._memory.reserve(start, goal - start))
        if any(problems):
            self._memory.discard(start, goal - start)
            pe, problem = next((pe, problem) for pe, problem in enumerate(problems) if problem)
            raise SymmetricHeapExhausted(nbytes, 0, f"PE {pe}: {problem}")
        self._reserved_bytes = goal

    def release(self, address: int) -> None:
        """Free an allocation."""
        self._free.release(address - self.base)

    def taken(self, address: int) -> bool | None:
        """Whether a team of this process holds the memory at an address; None for memory outside all heaps."""
        for heap in state.heaps:
            if heap.base <= address < heap.base + heap.size_bytes:
                return heap._free.taken_at(address - heap.base) is not None
        return None

    def view(
        self, address: int, shape: tuple[int, ...], dtype: DType, strides: tuple[int, ...] | None = None
    ) -> np.ndarray:
        """The memory at an address of this process as an array, which keeps the memory mapped."""
        memory: Any = self._memory.buffer
        return np.ndarray(shape, dtype.numpy, memory, address - self._memory.addresses[0], strides)

    def take_words(self, words: Sequence[int]) -> int:
        """Allocate int64 words with these values and return their address."""
        values = np.array(words, np.int64)
        self._words[values.ctypes.data] = values
        return values.ctypes.data

    def free_words(self, address: int) -> None:
        """Free words of ``take_words``."""
        del self._words[address]

    def copy_in(self, address: int, data: Any) -> None:
        """Copy an array to an address."""
        data = np.ascontiguousarray(data)
        ctypes.memmove(address, data.ctypes.data, data.nbytes)

    def fill(self, view: np.ndarray, value: Any) -> None:
        """Set every element of an array."""
        view[...] = value

    array_view = staticmethod(arrays.array_view)  # every call uses it, and this saves a frame
    call_key = staticmethod(arrays.call_key)
    new = staticmethod(arrays.new)

    def describe(self) -> list[tuple[str, str]]:
        return [("heap", f"{size_text(self.size_bytes)} a PE in memory that the node shares")]

    def close(self, kept: Collection[int]) -> None:
        """Unmap the memory once the last array in it has died.

        kept: addresses of allocations in which arrays may still live
        """
        state.heaps.remove(self)
        for address in set(self._free.taken) - {address - self.base for address in kept}:
            self._free.release(address)
        for start, nbytes in self._free.free:
            self._memory.discard(start, nbytes)
        self._memory.close()
