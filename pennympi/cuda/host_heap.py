"""A symmetric heap in the node's memory, for GPUs that do not reach one another's: every PE maps it, and CUDA knows it.

It is for machines whose GPUs have no peer access: PCIe without it, parts of a GPU (MIG), containers and virtual machines.
Puts are stores through a pointer, as over NVLink, but go over PCIe, and so does every access to a symmetric array.
NVSHMEM takes no part.
"""

import cupy

from ..errors import Unsupported
from ..job.job import Job
from ..job.shared_memory import SharedMemory, room_bytes
from .heap import Segments

_runtime = cupy.cuda.runtime
_PORTABLE_AND_MAPPED = 1 | 2  # cudaHostRegisterPortable | cudaHostRegisterMapped
_SAME_ADDRESS = 91  # cudaDevAttrCanUseHostPointerForRegisteredMem


class HostSegments(Segments):
    """One segment, as large as it will ever be, in the memory of the node that all PEs are on."""

    by_nvshmem = False
    where = "the node's memory, which GPUs reach over PCIe (PENNYMPI_HEAP)"
    remedy = "free arrays, or give more by init(heap_bytes=...) or PENNYMPI_SYMMETRIC_SIZE"

    def __init__(self, job: Job, device: int):
        self._begin(job.n_pes, device)
        self._job, self.base = job, 0
        self._low = self._high = 0
        self.deltas = []

    def room_bytes(self) -> int:
        return 0 if self.nbytes else room_bytes() // self.n_pes

    def add(self, nbytes: int) -> bool:
        """Make the segment; False if there is one.  Collective.  Raises Unsupported on every PE if one can't have it."""
        if self.nbytes:
            return False
        job = self._job
        memory = SharedMemory(
            lambda said: job.gather(said, "start of the symmetric heap"), job.me, job.control.pes, nbytes,
            "a symmetric heap", whole=False,
        )  # fmt: skip
        problem = memory.reserve(0, memory.part_bytes)  # by each PE its own part, near its own cores
        why = problem.text if problem else self._register(memory)
        problems = job.gather(why, "start of the symmetric heap")
        if any(problems):
            pe, why = next((pe, why) for pe, why in enumerate(problems) if why)
            raise Unsupported(f"PE {pe} can't have a symmetric heap in the node's memory: {why}")
        self._memory = memory  # stays mapped
        self.base = self._low = memory.address
        self._high = self.base + memory.part_bytes
        self.deltas = [address - self.base for address in memory.addresses]
        self.nbytes = memory.part_bytes
        self.ranges.add(0, self.nbytes)
        return True

    def _register(self, memory: SharedMemory) -> str:
        """Let the device reach the memory of all PEs; return why it can't."""
        if not _runtime.deviceGetAttribute(_SAME_ADDRESS, self.device):
            return "its device has other addresses for memory of the host"
        try:
            _runtime.hostRegister(memory.addresses[0], memory.nbytes, _PORTABLE_AND_MAPPED)
        except _runtime.CUDARuntimeError as error:
            return f"CUDA can't register it ({error}): ask for less by PENNYMPI_SYMMETRIC_SIZE"
        return ""
