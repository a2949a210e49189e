"""A first-fit allocator of ranges of memory.

The allocator is deterministic: PEs that make the same requests in the same order get the same offsets.  So a heap is
symmetric without messages.
"""

from bisect import bisect_right
from collections.abc import Iterable

ALIGN_BYTES = 256

Range = tuple[int, int]  # (offset, size), in bytes


def aligned(nbytes: int) -> int:
    """Bytes that a request of ``nbytes`` takes: a multiple of ALIGN_BYTES, at least one."""
    return max(1, -(-nbytes // ALIGN_BYTES)) * ALIGN_BYTES


def first_fit(ranges: Iterable[Range], nbytes: int) -> int | None:
    """Offset of the first range that has room for a request of ``nbytes``, or None."""
    return next((offset for offset, size_bytes in ranges if size_bytes >= aligned(nbytes)), None)


class FreeList:
    """The free ranges of memory: ``size_bytes`` bytes at offset 0, and the memory that ``add`` adds."""

    def __init__(self, size_bytes: int = 0):
        self._free: list[Range] = [(0, size_bytes)] if size_bytes else []  # in order of offset, never adjacent
        self._taken: dict[int, int] = {}  # offset -> bytes

    @property
    def free(self) -> tuple[Range, ...]:
        """The free ranges, in order of offset; no two ranges are adjacent."""
        return tuple(self._free)

    @property
    def taken(self) -> tuple[int, ...]:
        """The offsets of the taken ranges."""
        return tuple(self._taken)

    @property
    def free_bytes(self) -> int:
        """Number of free bytes, in all ranges."""
        return sum(size_bytes for _, size_bytes in self._free)

    def take(self, nbytes: int) -> int | None:
        """Take ``nbytes`` bytes; returns their offset, or None if no range is large enough."""
        offset = first_fit(self._free, nbytes)
        if offset is not None:
            self.take_at(offset, nbytes)
        return offset

    def take_at(self, offset: int, nbytes: int) -> None:
        """Take ``nbytes`` bytes at an offset.  Raises ValueError if they are not free."""
        end = offset + aligned(nbytes)
        i = bisect_right(self._free, offset, key=lambda item: item[0]) - 1
        start, size = self._free[i] if i >= 0 else (offset, 0)
        if end > start + size:
            raise ValueError(f"the bytes from {offset} to {end} are not free")
        self._free[i : i + 1] = [item for item in ((start, offset - start), (end, start + size - end)) if item[1]]
        self._taken[offset] = end - offset

    def release(self, offset: int) -> None:
        """Free the range that was taken at an offset."""
        self.add(offset, self._taken.pop(offset))

    def add(self, offset: int, nbytes: int) -> None:
        """Add ``nbytes`` of free memory at an offset, and join it to adjacent free ranges."""
        ranges = sorted([*self._free, (offset, nbytes)])
        joined = [ranges[0]]
        for start, size in ranges[1:]:
            last, length = joined[-1]
            if last + length == start:
                joined[-1] = (last, length + size)
            else:
                joined.append((start, size))
        self._free = joined

    def taken_at(self, offset: int) -> int | None:
        """The start of the taken range that contains an offset, or None."""
        return next((start for start, size in self._taken.items() if start <= offset < start + size), None)
