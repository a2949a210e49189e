"""The symmetric heap of a node: one MPI shared-memory window, mapped by every PE."""

import ctypes
import os
from typing import Any, ClassVar

import numpy as np
from mpi4py import MPI

from ..arrays.dtypes import DType
from ..errors import SymmetricHeapExhausted, Unsupported
from ..memory.freelist import ALIGN_BYTES, FreeList
from ..settings import setting

PAGE_BYTES = 4096


def default_bytes(n_local: int) -> int:
    """Bytes of the heap of one PE where none are asked for: 1 GiB, less where shared memory is small."""
    room = os.statvfs("/dev/shm")
    return min(1 << 30, room.f_bavail * room.f_frsize // 2 // n_local)


class Heap:
    """Symmetric memory by shared window.

    base:     address of this PE's part
    deltas:   what to add to an address of this PE's part to get that of each PE's instance
    of_teams: the heaps of all teams of this process
    """

    of_teams: ClassVar[list["Heap"]] = []

    def __init__(self, comm: MPI.Intracomm, heap_bytes: int | None):
        node: Any = comm.Split_type(MPI.COMM_TYPE_SHARED)
        if node.size != comm.size:
            node.Free()
            raise Unsupported(
                f"the host backend joins PEs of one node, and this communicator's {comm.size} PEs are on several; "
                "use the cuda backend there, or split the communicator by node"
            )
        request = heap_bytes or setting("PENNYMPI_SYMMETRIC_SIZE") or default_bytes(node.size)
        self.size_bytes = -(-request // PAGE_BYTES) * PAGE_BYTES
        self._window = MPI.Win.Allocate_shared(self.size_bytes + PAGE_BYTES, 1, comm=node)
        node.Free()
        starts = [self._window.Shared_query(pe)[0].address for pe in range(comm.size)]
        pad = -starts[comm.rank] % ALIGN_BYTES
        self.base = starts[comm.rank] + pad
        self.deltas = [start - starts[comm.rank] for start in starts]
        self._free = FreeList(self.size_bytes)
        self.of_teams.append(self)

    def allocate(self, nbytes: int) -> int:
        """Allocate ``nbytes`` symmetric bytes and return their address.  Raises SymmetricHeapExhausted."""
        offset = self._free.take(nbytes)
        if offset is None:
            raise SymmetricHeapExhausted(
                nbytes,
                self._free.free_bytes,
                "free arrays, or give more by init(heap_bytes=...) or PENNYMPI_SYMMETRIC_SIZE",
            )
        return self.base + offset

    def release(self, address: int) -> None:
        """Give an allocation back."""
        self._free.release(address - self.base)

    def holds(self, address: int) -> bool:
        """Whether an address lies in this PE's part."""
        return self.base <= address < self.base + self.size_bytes

    def taken(self, address: int) -> bool:
        """Whether an address lies in memory that is allocated."""
        return self._free.taken_at(address - self.base)

    def view(self, address: int, shape: tuple[int, ...], dtype: DType) -> np.ndarray:
        """The memory at an address of this process as an array."""
        nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.item_bytes
        memory: Any = (ctypes.c_byte * max(nbytes, 1)).from_address(address)  # an empty array has an address too
        return np.ndarray(shape, dtype.numpy, memory)

    def close(self) -> None:
        """Unmap.  Collective."""
        self.of_teams.remove(self)
        self._window.Free()
