"""Who read and wrote each byte last, and the check that something orders an access and those before it.

Of several reads that nothing orders one is kept, drawn by the schedule's seed.
"""

import mmap
from random import Random
from typing import Any

import numpy as np

from .clocks import Clock
from .faults import Race
from .lines import Lines

# An access is one int64: component, time, line.  0: there was none.
LINE_BITS, TIME_BITS = 20, 31
AT_COMPONENT = LINE_BITS + TIME_BITS
LINE_MASK, TIME_MASK = (1 << LINE_BITS) - 1, (1 << TIME_BITS) - 1
READ, WRITE = 0, 1
SMALL_BYTES, LARGE_BYTES = 8, 4096
VERBS = ("read", "written")

Accesses = np.ndarray[Any, Any]


def _packed(clock: Clock, line: int) -> int:
    return clock.component << AT_COMPONENT | clock.time << LINE_BITS | line


def _zeros(n: int) -> Accesses:
    """n zeros, whose pages are taken when they are touched: numpy.zeros may clear memory that it has."""
    return np.frombuffer(mmap.mmap(-1, max(8 * n, 1)), np.int64, n)


class Shadow:
    """The last accesses of the bytes of one array on one PE.

    what: the array, for messages;  pe: whose memory it is
    """

    def __init__(self, what: str, pe: int, nbytes: int, lines: Lines, rng: Random):
        self.what, self.pe, self._lines, self._random = what, pe, lines, rng.random
        self._nbytes = nbytes
        self._last: tuple[Accesses, Accesses] | None = None  # made when it is needed, as it may be large
        self._words: tuple[Any, Any] = (), ()  # the same, whose elements are read faster
        self._whole = 0  # the last write of all bytes

    @property
    def last(self) -> tuple[Accesses, Accesses]:
        """Of each byte, the last read and the last write since the last write of all bytes."""
        if self._last is None:
            reads, writes = self._last = _zeros(self._nbytes), _zeros(self._nbytes)
            self._words = memoryview(reads), memoryview(writes)  # type: ignore[arg-type]
        return self._last

    def note(self, clock: Clock, line: int, kind: int, start: int, stop: int) -> None:
        """An access of bytes start..stop-1.  Raises Race."""
        if kind == WRITE and stop - start == self._nbytes > LARGE_BYTES:
            self._write_all(clock, line)
            return
        reads, writes = self.last
        if stop - start <= SMALL_BYTES and self._is_ordered(clock, kind, start, stop - 1):
            if kind == WRITE:
                writes[start:stop] = _packed(clock, line)
            elif self._random() < 0.5 or comes_before(self._words[READ][start], clock):
                reads[start:stop] = _packed(clock, line)
        else:
            self.note_all(clock, line, kind, reads[start:stop], writes[start:stop], start)

    def _write_all(self, clock: Clock, line: int) -> None:
        """A write of all bytes."""
        if not comes_before(self._whole, clock):
            raise self._race(line, WRITE, WRITE, self._whole, 0)
        for other in (WRITE, READ) if self._last else ():
            self._check(clock, line, WRITE, other, self.last[other], 0)
        self._whole, self._last = _packed(clock, line), None

    def note_all(self, clock: Clock, line: int, kind: int, reads: Accesses, writes: Accesses, at: int = 0) -> None:
        """An access of the bytes, from ``at`` on, whose last reads and writes these views hold.  Raises Race."""
        if not writes.size:
            return
        own = _packed(clock, line)
        self._check(clock, line, kind, WRITE, writes, at)
        if kind == WRITE:
            self._check(clock, line, kind, READ, reads, at)
            writes[...] = own
        elif self._random() < 0.5:
            reads[...] = own
        else:  # in the place of those alone that come before it
            before = clock.seen[reads >> AT_COMPONENT] >= (reads >> LINE_BITS) & TIME_MASK
            reads[before] = own

    def _is_ordered(self, clock: Clock, kind: int, first: int, last: int) -> bool:
        """Whether an element or two, which are accessed as a whole, have been accessed before."""
        reads, writes = self._words
        found = [self._whole, writes[first], writes[last]]
        if kind == WRITE:
            found += reads[first], reads[last]
        for one in found:
            if one and not comes_before(one, clock):
                return False
        return True

    def _check(self, clock: Clock, line: int, kind: int, other: int, accesses: Accesses, start: int) -> None:
        """Raise Race where one of these accesses does not come before this one."""
        if other == WRITE and not comes_before(self._whole, clock):
            raise self._race(line, kind, other, self._whole, start)
        low = int(accesses.min())
        if low == int(accesses.max()) and comes_before(low, clock):
            return
        late = clock.seen[accesses >> AT_COMPONENT] < (accesses >> LINE_BITS) & TIME_MASK
        if late.any():
            at = start + int(np.flatnonzero(late.reshape(-1))[0])
            raise self._race(line, kind, other, int(accesses[late].flat[0]), at)

    def _race(self, line: int, kind: int, other: int, access: int, at: int) -> Race:
        there = self._lines.text(access & LINE_MASK)
        return Race(
            f"byte {at} of {self.what} of PE {self.pe} is {VERBS[kind]} at {self._lines.text(line)}, and "
            f"{VERBS[other]} at {there}: nothing orders one before the other"
        )


def comes_before(access: int, clock: Clock) -> bool:
    """Whether an access is ordered before what an actor does now."""
    return clock.seen.item(access >> AT_COMPONENT) >= (access >> LINE_BITS) & TIME_MASK  # type: ignore[no-any-return]
