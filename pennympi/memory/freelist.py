"""A first-fit allocator over ranges of addresses.

It is deterministic: PEs that make the same requests in the same order get the
same offsets, which is what makes the heap symmetric without any message.
"""

from bisect import bisect_right
from collections.abc import Iterable

ALIGN_BYTES = 256

Range = tuple[int, int]  # (offset, bytes)


def aligned(nbytes: int) -> int:
    """What a request takes of the memory."""
    return max(1, -(-nbytes // ALIGN_BYTES)) * ALIGN_BYTES


def first_fit(ranges: Iterable[Range], nbytes: int) -> int | None:
    """Offset of the first range that holds a request of ``nbytes``, or None."""
    return next((offset for offset, size in ranges if size >= aligned(nbytes)), None)


class FreeList:
    """Offsets into ``size_bytes`` of memory, and into what ``add`` brings."""

    def __init__(self, size_bytes: int = 0):
        self._free: list[Range] = [(0, size_bytes)] if size_bytes else []  # sorted, never adjacent
        self._taken: dict[int, int] = {}

    @property
    def free(self) -> tuple[Range, ...]:
        """What is free, in order of offset; no two ranges touch."""
        return tuple(self._free)

    @property
    def free_bytes(self) -> int:
        """Bytes not taken (perhaps in several pieces)."""
        return sum(size for _, size in self._free)

    def take(self, nbytes: int) -> int | None:
        """Offset of ``nbytes`` aligned bytes, or None when no piece is large enough."""
        offset = first_fit(self._free, nbytes)
        if offset is not None:
            self.take_at(offset, nbytes)
        return offset

    def take_at(self, offset: int, nbytes: int) -> None:
        """Take ``nbytes`` aligned bytes at an offset.  Raises ValueError where they are not free."""
        end = offset + aligned(nbytes)
        i = bisect_right(self._free, offset, key=lambda piece: piece[0]) - 1
        start, size = self._free[i] if i >= 0 else (offset, 0)
        if end > start + size:
            raise ValueError(f"the bytes from {offset} to {end} are not free")
        self._free[i : i + 1] = [piece for piece in ((start, offset - start), (end, start + size - end)) if piece[1]]
        self._taken[offset] = end - offset

    def give(self, offset: int) -> None:
        """Return what was taken at an offset; neighbouring pieces are joined."""
        self.add(offset, self._taken.pop(offset))

    def add(self, offset: int, nbytes: int) -> None:
        """Bring more memory, which is joined to its neighbours."""
        pieces = sorted([*self._free, (offset, nbytes)])
        joined = [pieces[0]]
        for start, size in pieces[1:]:
            last, length = joined[-1]
            if last + length == start:
                joined[-1] = (last, length + size)
            else:
                joined.append((start, size))
        self._free = joined

    def taken_at(self, offset: int) -> bool:
        """True for an offset in what is taken."""
        return any(start <= offset < start + size for start, size in self._taken.items())
