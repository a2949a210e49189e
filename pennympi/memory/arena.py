"""Symmetric memory that the teams of a process share.

An offset names the same memory on every PE, and each PE keeps a list of its free ranges.  To allocate, the PEs of a team
gather their free ranges, and each PE finds the same first fit in the ranges that are free on all of them.  PEs outside
the team take no part, so teams may overlap in any way.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from .freelist import FreeList, Range, first_fit


def common_ranges(lists: Sequence[tuple[Range, ...]]) -> tuple[Range, ...]:
    """The ranges that are free in all lists, in order of offset, like each list."""
    different = set(lists)  # most lists are equal
    starts = [(start, 1) for ranges in different for start, _ in ranges]
    ends = [(start + size, -1) for ranges in different for start, size in ranges]
    common, begin, depth = [], 0, 0  # depth: number of lists in which the offset is free
    for offset, step in sorted(starts + ends):
        if step == 1 and depth == len(different) - 1:
            begin = offset
        elif step == -1 and depth == len(different):
            common.append((begin, offset - begin))
        depth += step
    return tuple(common)


class TeamArena:
    """A team's allocations in the memory that this PE shares among its teams.

    ranges:     free ranges of this PE, for all its teams
    gather:     function that returns every PE's data, in order of the team's PEs; collective over the team
    free_bytes: bytes that were free on every PE of the team before its last allocation
    """

    def __init__(self, ranges: FreeList, gather: Callable[[Any], list[Any]]):
        self._ranges, self._gather = ranges, gather
        self._allocated: set[int] = set()  # offsets
        self.free_bytes = 0

    def allocate(self, nbytes: int) -> int | None:
        """Offset of ``nbytes`` bytes, the same on every PE of the team, or None if nothing fits.  Collective."""
        common = common_ranges(self._gather(self._ranges.free))
        self.free_bytes = sum(size_bytes for _, size_bytes in common)
        offset = first_fit(common, nbytes)
        if offset is not None:
            self._ranges.take_at(offset, nbytes)
            self._allocated.add(offset)
        return offset

    def release(self, offset: int) -> None:
        """Free an allocation on this PE, after all writes of its peers."""
        self._allocated.remove(offset)
        self._ranges.release(offset)

    def close(self, kept: Collection[int] = ()) -> None:
        """Free all remaining allocations, except those at the offsets ``kept``."""
        for offset in self._allocated - set(kept):
            self.release(offset)
