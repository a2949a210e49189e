"""A first-fit allocator over one range of addresses.

It is deterministic: PEs that make the same requests in the same order get the
same offsets, which is what makes the heap symmetric without any message.
"""

ALIGN_BYTES = 256


class FreeList:
    """Offsets into ``size_bytes`` of memory."""

    def __init__(self, size_bytes: int):
        self._free = [(0, size_bytes)]  # (offset, bytes), sorted, never adjacent
        self._taken: dict[int, int] = {}

    @property
    def free_bytes(self) -> int:
        """Bytes not taken (perhaps in several pieces)."""
        return sum(size for _, size in self._free)

    def take(self, nbytes: int) -> int | None:
        """Offset of ``nbytes`` aligned bytes, or None when no piece is large enough."""
        nbytes = max(1, -(-nbytes // ALIGN_BYTES)) * ALIGN_BYTES
        for i, (offset, size) in enumerate(self._free):
            if size >= nbytes:
                self._free[i : i + 1] = [(offset + nbytes, size - nbytes)] if size > nbytes else []
                self._taken[offset] = nbytes
                return offset
        return None

    def give(self, offset: int) -> None:
        """Return what ``take`` gave; neighbouring pieces are joined."""
        pieces = sorted([*self._free, (offset, self._taken.pop(offset))])
        joined = [pieces[0]]
        for start, size in pieces[1:]:
            last, length = joined[-1]
            if last + length == start:
                joined[-1] = (last, length + size)
            else:
                joined.append((start, size))
        self._free = joined
