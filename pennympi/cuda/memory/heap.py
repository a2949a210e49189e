"""A team's part of the symmetric memory, words of this PE, and CuPy arrays over them."""

from collections.abc import Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np

from ...arrays.dtypes import DType
from ...errors import SymmetricHeapExhausted
from ...job.job import Job
from ...memory.arena import TeamArena
from ...units import size_text
from .arrays import array_view, call_key, new
from .segments import Segments

if TYPE_CHECKING:
    from .setup_stream import SetupStream


class _Arrays:
    """The owner of the memory of a team's arrays, which lives as long as one of them."""


class Heap:
    """See ``pennympi.backend.Heap``.  setup: the stream for work on this PE's memory"""

    def __init__(self, job: Job, segments: Segments, setup: "SetupStream"):
        self._job, self._segments, self._setup = job, segments, setup
        self._arena = TeamArena(segments.ranges, lambda free: job.gather(free, "allocation of symmetric memory"))
        self._whole = job.n_pes == segments.n_pes
        self._arrays = _Arrays()
        self._words: set[int] = set()  # addresses of ``take_words``
        self.array_view = partial(array_view, device=segments.device)
        self.copy_in, self.fill = setup.copy_in, setup.fill

    call_key = staticmethod(call_key)
    new = staticmethod(new)

    def allocate(self, nbytes: int) -> int:
        """Allocate ``nbytes`` symmetric bytes and return their address.  Collective.  Raises SymmetricHeapExhausted.

        It waits for no stream, unless a team of all PEs finds no room and adds a segment.
        """
        room_bytes = 0
        with self._setup.beside_captures():
            self._segments.collect()
            offset = self._arena.allocate(nbytes)
            if offset is None and self._whole:
                room_bytes = self._segments.grow(self._job, nbytes)
                offset = self._arena.allocate(nbytes)
        if offset is None:
            raise SymmetricHeapExhausted(nbytes, max(room_bytes, self._arena.free_bytes), self._remedy())
        return self._segments.base + offset

    def _remedy(self) -> str:
        if self._whole:
            return self._segments.remedy
        return (
            "free arrays, or ask for more by PENNYMPI_SYMMETRIC_SIZE or init(heap_bytes=...) of the first team: "
            f"only a team of all its {self._segments.n_pes} PEs can enlarge the memory later"
        )

    def release(self, address: int) -> None:
        """Free an allocation."""
        self._arena.release(address - self._segments.base)

    def taken(self, address: int) -> bool | None:
        """Whether a team of this process holds the memory at an address; None for memory outside the segments."""
        if not self._segments.holds(address):
            return None
        return self._segments.ranges.taken_at(address - self._segments.base) is not None

    def view(self, address: int, shape: tuple[int, ...], dtype: DType, strides: tuple[int, ...] | None = None) -> Any:
        """The memory at an address that this device can access, as an array."""
        nbytes = max(1, int(np.prod(shape, dtype=np.int64)) * dtype.item_bytes)
        if strides is not None:
            nbytes = shape[0] * strides[0]
        memory = cupy.cuda.UnownedMemory(address, nbytes, self._arrays, self._segments.device)
        return cupy.ndarray(shape, dtype.numpy, cupy.cuda.MemoryPointer(memory, 0), strides)

    def take_words(self, words: Sequence[int]) -> int:
        """Allocate int64 words with these values and return their address."""
        address = self._setup.take_words(words)
        self._words.add(address)
        return address

    def free_words(self, address: int) -> None:
        """Free words of ``take_words``."""
        self._words.remove(address)
        self._setup.free_words(address)

    def describe(self) -> list[tuple[str, str]]:
        free, whole = size_text(self._segments.ranges.free_bytes), size_text(self._segments.nbytes)
        return [("heap", f"{free} of {whole} free in {self._segments.where}, shared by all teams")]

    def close(self, kept: Collection[int]) -> None:
        """Free the team's allocations at once, and those at the addresses ``kept`` after the last array has died."""
        offsets = {address - self._segments.base for address in kept}
        self._arena.close(offsets)
        self._segments.release_with(self._arrays, offsets)
        del self._arrays
        for address in self._words:
            self._setup.free_words(address)
