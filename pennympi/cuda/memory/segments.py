"""Symmetric memory of NVSHMEM in a few large segments, which all teams of a process share."""

import weakref
from typing import Any

import cupy
from nvshmem import bindings as nvshmem

from ...errors import SymmetricHeapExhausted
from ...job.job import Job
from ...memory.freelist import FreeList, aligned

SEGMENT_BYTES = 2 << 30  # default size of a segment; half of the free device memory if that is less
KEPT_BYTES = 1 << 30  # memory left free: NVSHMEM's heap grows by 512 MiB at a time, and NVSHMEM needs some memory itself


class Segments:
    """Memory that nvshmem_malloc gave this process for all its teams, until the process ends.

    peer_offsets: differences between the addresses of each PE's instance and this PE's, None: no pointer reaches the PE
    base:   address of offset 0
    ranges: free ranges of all segments, by offset;  nbytes: size of all segments
    where:  place of the memory, for the report;  remedy: advice when there is no room, for a team of all PEs
    A team may end before its arrays die.  Their memory is free only after that, at a different time on each PE.
    """

    by_nvshmem = True
    where = "device memory"
    remedy = "free arrays, or use devices with more memory (NVSHMEM_SYMMETRIC_SIZE if VMM is off)"

    def __init__(self, me: int, n_pes: int, device: int, n_sharing: int):
        self._begin(n_pes, device)
        self._n_sharing = n_sharing
        self.base = self._low = self._high = int(nvshmem.malloc(256))
        pointers = [nvshmem.ptr(self.base, pe) if pe != me else self.base for pe in range(n_pes)]
        # Each PE's heap is one range, which its peers map as one range, so one difference serves all addresses.
        self.peer_offsets = [pointer - self.base if pointer else None for pointer in pointers]

    def _begin(self, n_pes: int, device: int) -> None:
        self.n_pes, self.device = n_pes, device
        self.ranges, self.nbytes = FreeList(), 0
        self._outlived: set[int] = set()  # offsets of arrays of ended teams
        self._dead: list[int] = []  # offsets of those that have died; the garbage collector may append at any moment

    def room_bytes(self) -> int:
        """Bytes that another segment may have on this PE.

        NVSHMEM ends the process if its heap can't grow, so no larger segment may be requested.
        """
        return max(0, cupy.cuda.Device(self.device).mem_info[0] // self._n_sharing - KEPT_BYTES)

    def start(self, job: Job, heap_bytes: int | None) -> None:
        """Make the first segment.  Collective over all PEs of NVSHMEM; raises SymmetricHeapExhausted.

        heap_bytes: its size; the largest size of all PEs counts; None on all PEs: a size by the devices' memory
        """
        sizes = job.gather((heap_bytes or 0, self.room_bytes()), "start of the symmetric heap")
        request, room_bytes = max(sizes)[0], min(free_bytes for _, free_bytes in sizes)
        if request:
            if request > room_bytes or not self.add(request):
                raise SymmetricHeapExhausted(
                    request, room_bytes, "ask for less by init(heap_bytes=...) or PENNYMPI_SYMMETRIC_SIZE"
                )
            return
        size = min(SEGMENT_BYTES, room_bytes // 2)
        while not self.add(size) and size > KEPT_BYTES // 16:  # a heap of fixed size (NVSHMEM_SYMMETRIC_SIZE)
            size -= size // 4

    def grow(self, job: Job, nbytes: int) -> int:
        """Make a segment of at least ``nbytes`` if there is room; return the room in bytes before.

        Collective over all PEs of NVSHMEM.
        """
        room_bytes = min(job.gather(self.room_bytes(), "growth of the symmetric heap"))
        if nbytes <= room_bytes and not self.add(max(nbytes, min(SEGMENT_BYTES, room_bytes // 2))):
            self.add(nbytes)
        return room_bytes

    def add(self, nbytes: int) -> bool:
        """Make a segment; return False if NVSHMEM has no room for it.  Collective over all PEs of NVSHMEM."""
        nbytes = aligned(nbytes)
        try:
            address = int(nvshmem.malloc(nbytes))
        except Exception:  # the bindings have their own exceptions for a null pointer
            address = 0
        if address:
            self._low, self._high = min(self._low, address), max(self._high, address + nbytes)
            self.ranges.add(address - self.base, nbytes)
            self.nbytes += nbytes
        return address != 0

    def holds(self, address: int) -> bool:
        """Whether an address lies between the start of the first and the end of the last segment.

        An array that has outlived its team counts as an array outside the segments.
        """
        inside = self._low <= address < self._high
        return inside and not (self._outlived and self.ranges.taken_at(address - self.base) in self._outlived)

    def release_with(self, owner: Any, offsets: set[int]) -> None:
        """Free the allocations at these offsets once the object ``owner`` has died."""
        self._outlived |= offsets
        weakref.finalize(owner, self._dead.extend, offsets).atexit = False

    def collect(self) -> None:
        """Free the memory of arrays that have outlived their team and died."""
        while self._dead:
            offset = self._dead.pop()
            self._outlived.remove(offset)
            self.ranges.release(offset)
