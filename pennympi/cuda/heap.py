"""The symmetric heap of NVSHMEM, and CuPy arrays over it."""

from typing import Any

import cupy
import numpy as np
from nvshmem import bindings as nvshmem

from ..dtypes import DType
from ..errors import SymmetricHeapExhausted

GROWTH_BYTES = 1 << 30  # NVSHMEM's heap grows by 512 MiB at a time, and keeps something for itself


class Heap:
    """Symmetric memory by nvshmem_malloc, which is collective.

    deltas: what to add for each PE's instance, None where a pointer does not reach
    probe:  an address in it
    """

    def __init__(self, me: int, n_pes: int, device: int):
        self._device = device
        self._low, self._high = 1 << 62, 0
        self._bytes: dict[int, int] = {}
        self._live_bytes = self._peak_bytes = 0
        self.probe = self.allocate(256)
        pointers = [nvshmem.ptr(self.probe, pe) if pe != me else self.probe for pe in range(n_pes)]
        # Every PE's heap is one range, mapped as one range by its peers: one distance serves all addresses.
        self.deltas = [pointer - self.probe if pointer else None for pointer in pointers]

    def room_bytes(self, n_sharing: int) -> int:
        """What one more allocation may take on this PE, whose device ``n_sharing`` PEs share.

        NVSHMEM ends the process when its heap can't grow, so it must not be asked for more.
        """
        returned_bytes = self._peak_bytes - self._live_bytes  # it keeps what was freed
        device_bytes = cupy.cuda.Device(self._device).mem_info[0] // n_sharing - GROWTH_BYTES
        return max(returned_bytes, device_bytes, 0)

    def allocate(self, nbytes: int, room_bytes: int = 1 << 62) -> int:
        """Address of ``nbytes`` symmetric bytes.  Collective; raises SymmetricHeapExhausted.

        room_bytes: the least of the PEs' ``room_bytes()``
        """
        address = 0
        if nbytes <= room_bytes:
            try:
                address = int(nvshmem.malloc(nbytes))
            except Exception:  # the bindings raise their own kind for a null pointer
                address = 0
        if not address:
            raise SymmetricHeapExhausted(
                nbytes,
                room_bytes,
                "free arrays, or use devices with more memory (NVSHMEM_SYMMETRIC_SIZE if VMM is off)",
            )
        self._low, self._high = min(self._low, address), max(self._high, address + nbytes)
        self._bytes[address] = nbytes
        self._live_bytes += nbytes
        self._peak_bytes = max(self._peak_bytes, self._live_bytes)
        return address

    def release(self, address: int) -> None:
        """Give an allocation back.  Collective."""
        nvshmem.free(address)
        self._live_bytes -= self._bytes.pop(address)

    def holds(self, address: int) -> bool:
        """True for an address between the lowest and the highest ever allocated."""
        return self._low <= address < self._high

    def view(self, address: int, shape: tuple[int, ...], dtype: DType) -> Any:
        """The memory at an address that this device reaches, as an array."""
        nbytes = max(1, int(np.prod(shape, dtype=np.int64)) * dtype.item_bytes)
        memory = cupy.cuda.UnownedMemory(address, nbytes, self, self._device)
        return cupy.ndarray(shape, dtype.numpy, cupy.cuda.MemoryPointer(memory, 0))

    def close(self) -> None:
        """Give everything back that is left, in order of address: the same on every PE.  Collective."""
        for address in sorted(self._bytes):
            self.release(address)
