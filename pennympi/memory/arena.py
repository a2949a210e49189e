"""Symmetric memory that the teams of a process share.

An offset means the same memory on every PE, and each PE keeps one list of what is free on it.
A team takes a range that is free on all its PEs: each tells the others what is free on it, and all
come to the first fit in what is free on every one.  PEs outside the team take no part, so that teams
may overlap in any way.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from .freelist import FreeList, Range, first_fit


def in_common(lists: Sequence[tuple[Range, ...]]) -> tuple[Range, ...]:
    """The ranges that are free in each of the lists, which are sorted."""
    return reduce(_in_both, set(lists))  # most lists are alike


def _in_both(a: tuple[Range, ...], b: tuple[Range, ...]) -> tuple[Range, ...]:
    common, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        end_a, end_b = sum(a[i]), sum(b[j])
        start, end = max(a[i][0], b[j][0]), min(end_a, end_b)
        if start < end:
            common.append((start, end - start))
        i, j = (i + 1, j) if end_a <= end_b else (i, j + 1)
    return tuple(common)


class Share:
    """What one team has of this PE's memory.

    ranges:     this PE's memory, of all teams
    gather:     every PE's data, in the order of the team's PEs; collective over the team
    free_bytes: free on every PE of the team, before its last allocation
    """

    def __init__(self, ranges: FreeList, gather: Callable[[Any], list[Any]]):
        self._ranges, self._gather = ranges, gather
        self._held: set[int] = set()
        self.free_bytes = 0

    def allocate(self, nbytes: int) -> int | None:
        """Offset of ``nbytes`` bytes, the same on every PE of the team; None where nothing fits.  Collective."""
        common = in_common(self._gather(self._ranges.free))
        self.free_bytes = sum(size for _, size in common)
        offset = first_fit(common, nbytes)
        if offset is not None:
            self._ranges.take_at(offset, nbytes)
            self._held.add(offset)
        return offset

    def release(self, offset: int) -> None:
        """Give an allocation back; each PE by itself, once no peer writes there any more."""
        self._held.remove(offset)
        self._ranges.give(offset)

    def close(self) -> None:
        """Give everything back that is left."""
        for offset in tuple(self._held):
            self.release(offset)
