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
        self.what, self.pe, self._lines, self._rng = what, pe, lines, rng
        self._nbytes = nbytes
        self._last: tuple[Accesses, Accesses] | None = None  # made when it is needed, as it may be large
        self._whole = np.zeros(1, np.int64)  # the last write of all bytes

    @property
    def last(self) -> tuple[Accesses, Accesses]:
        """Of each byte, the last read and the last write since the last write of all bytes."""
        self._last = self._last or (_zeros(self._nbytes), _zeros(self._nbytes))
        return self._last

    def note(self, clock: Clock, line: int, kind: int, start: int, stop: int) -> None:
        """An access of bytes start..stop-1.  Raises Race."""
        if kind == WRITE and stop - start == self._nbytes > LARGE_BYTES:
            for other in (WRITE, READ) if self._last else ():
                self._check(clock, line, kind, other, self.last[other], 0)
            self._check(clock, line, kind, WRITE, self._whole, 0)
            self._whole[0] = _packed(clock, line)
            self._last = None
            return
        self.note_all(clock, line, kind, self.last[READ][start:stop], self.last[WRITE][start:stop], start)

    def note_all(self, clock: Clock, line: int, kind: int, reads: Accesses, writes: Accesses, at: int = 0) -> None:
        """An access of the bytes, from ``at`` on, whose last reads and writes these views hold.  Raises Race."""
        own = _packed(clock, line)
        if not writes.size:
            return
        self._check(clock, line, kind, WRITE, self._whole, at)
        self._check(clock, line, kind, WRITE, writes, at)
        if kind == WRITE:
            self._check(clock, line, kind, READ, reads, at)
            writes[...] = own
        elif self._rng.random() < 0.5:
            reads[...] = own
        else:  # in the place of those alone that come before it
            before = clock.seen[reads >> AT_COMPONENT] >= (reads >> LINE_BITS) & TIME_MASK
            reads[before] = own

    def _check(self, clock: Clock, line: int, kind: int, other: int, accesses: Accesses, start: int) -> None:
        """Raise Race where one of these accesses does not come before this one."""
        if accesses.size <= SMALL_BYTES:  # of an element or two, which are accessed as a whole
            ends = int(accesses.flat[0]), int(accesses.flat[-1])
        else:
            ends = int(accesses.min()), int(accesses.max())
        if accesses.size <= SMALL_BYTES or ends[0] == ends[1]:
            if all(clock.seen[one >> AT_COMPONENT] >= (one >> LINE_BITS) & TIME_MASK for one in ends):
                return
        late = clock.seen[accesses >> AT_COMPONENT] < (accesses >> LINE_BITS) & TIME_MASK
        if late.any():
            there = self._lines.text(int(accesses[late].flat[0]) & LINE_MASK)
            at = start + int(np.flatnonzero(late.reshape(-1))[0])
            raise Race(
                f"byte {at} of {self.what} of PE {self.pe} is {VERBS[kind]} at {self._lines.text(line)}, and "
                f"{VERBS[other]} at {there}: nothing orders one before the other"
            )
