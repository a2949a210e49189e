"""A symmetric heap in the node's memory, for GPUs without access to each other's memory: all PEs and GPUs map it.

It is for PCIe without peer access, parts of a GPU (MIG), containers and virtual machines.  Puts are stores through a
pointer, as over NVLink, but they go over PCIe, as does every access to a symmetric array.  NVSHMEM is not used.
"""

from typing import Any

import cupy

from ...job.job import Job
from ...job.memory_room import room_bytes
from ...job.shared_memory import PAGE_BYTES, SharedMemory
from .segments import Segments

_runtime = cupy.cuda.runtime
_PORTABLE_AND_MAPPED = 1 | 2  # cudaHostRegisterPortable | cudaHostRegisterMapped
_SAME_ADDRESS = 91  # cudaDevAttrCanUseHostPointerForRegisteredMem


class HostSegments(Segments):
    """Segments in the memory of the node of all PEs.

    Each PE has a part of one range of addresses, as large as the node's memory allows.  Pages are taken, and registered
    with CUDA, segment by segment.
    """

    by_nvshmem = False
    where = "the node's memory, which GPUs reach over PCIe (PENNYMPI_HEAP)"
    remedy = "free arrays, or run fewer PEs on this node"

    def __init__(self, job: Job, device: int):
        self._begin(job.n_pes, device)
        self._job, self._used_bytes = job, 0
        part_bytes = min(self._gather(room_bytes())) // job.n_pes
        self._memory = SharedMemory(self._gather, job.me, job.control.pes, part_bytes, "a symmetric heap", whole=False)
        self.base = self._low = self._high = self._memory.address
        self.peer_offsets = [address - self.base for address in self._memory.addresses]

    def _gather(self, value: Any) -> list[Any]:
        return self._job.gather(value, "growth of the symmetric heap")

    def room_bytes(self) -> int:
        return max(0, min(self._memory.part_bytes - self._used_bytes, room_bytes() // self.n_pes))

    def add(self, nbytes: int) -> bool:
        """Make a segment; return False, on every PE, if any PE can't have it.  Collective."""
        start, nbytes = self._used_bytes, -(-nbytes // PAGE_BYTES) * PAGE_BYTES
        if start + nbytes > self._memory.part_bytes:
            return False
        reserved = self._memory.reserve(start, nbytes) is None  # each PE reserves its own part, near its own cores
        known = self._register(start, nbytes) if all(self._gather(reserved)) else []
        if not all(self._gather(len(known) == self.n_pes)):
            for address in known:
                _runtime.hostUnregister(address)
            self._memory.discard(start, nbytes)
            return False
        self._used_bytes += nbytes + PAGE_BYTES  # a gap, so that an array, which CUDA may copy, lies in one segment
        self._high = self.base + start + nbytes
        self.nbytes += nbytes
        self.ranges.add(start, nbytes)
        return True

    def _register(self, start: int, nbytes: int) -> list[int]:
        """Register these bytes of every PE's part with CUDA; return the addresses that were registered."""
        registered: list[int] = []
        try:
            if _runtime.deviceGetAttribute(_SAME_ADDRESS, self.device):
                for address in self._memory.addresses:
                    _runtime.hostRegister(address + start, nbytes, _PORTABLE_AND_MAPPED)
                    registered.append(address + start)
        except _runtime.CUDARuntimeError:
            pass
        return registered
