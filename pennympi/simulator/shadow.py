"""The last read and write of each byte, and the check that an access is ordered after earlier accesses.

Of several unordered reads one is kept, which the schedule's seed draws.
"""

import mmap
from random import Random
from typing import Any

import numpy as np

from .clocks import Clock
from .faults import Race
from .lines import Lines

# An access is an int64: component, time, line.  0: no access.
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
    """n zeros, whose pages are allocated at their first use; numpy.zeros may instead clear memory that it already has."""
    return np.frombuffer(mmap.mmap(-1, max(8 * n, 1)), np.int64, n)


class Shadow:
    """The last accesses to the bytes of an array on a PE.

    what: name of the array in messages;  pe: PE with the memory
    """

    def __init__(self, what: str, pe: int, nbytes: int, lines: Lines, rng: Random):
        self.what, self.pe, self._lines, self._random = what, pe, lines, rng.random
        self._nbytes = nbytes
        self._last: tuple[Accesses, Accesses] | None = None  # made when it is needed, since it may be large
        self._words: tuple[Any, Any] = (), ()  # the same accesses, as objects that are faster to read
        self._whole = 0  # the last write of all bytes

    @property
    def last(self) -> tuple[Accesses, Accesses]:
        """For each byte the last read and the last write, since the last write of all bytes."""
        if self._last is None:
            reads, writes = self._last = _zeros(self._nbytes), _zeros(self._nbytes)
            self._words = memoryview(reads), memoryview(writes)  # type: ignore[arg-type]
        return self._last

    def note(self, clock: Clock, line: int, kind: int, start: int, stop: int) -> None:
        """Record an access to the bytes start..stop-1.  Raises Race."""
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
        """Record a write of all bytes."""
        if not comes_before(self._whole, clock):
            raise self._race(line, WRITE, WRITE, self._whole, 0)
        for earlier_kind in (WRITE, READ) if self._last else ():
            self._check(clock, line, WRITE, earlier_kind, self.last[earlier_kind], 0)
        self._whole, self._last = _packed(clock, line), None

    def note_all(self, clock: Clock, line: int, kind: int, reads: Accesses, writes: Accesses, start: int = 0) -> None:
        """Record an access to bytes from ``start`` on, whose last reads and writes are in these views.  Raises Race."""
        if not writes.size:
            return
        own = _packed(clock, line)
        self._check(clock, line, kind, WRITE, writes, start)
        if kind == WRITE:
            self._check(clock, line, kind, READ, reads, start)
            writes[...] = own
        elif self._random() < 0.5:
            reads[...] = own
        else:  # replace only reads that come before this one
            before = clock.seen[reads >> AT_COMPONENT] >= (reads >> LINE_BITS) & TIME_MASK
            reads[before] = own

    def _is_ordered(self, clock: Clock, kind: int, first: int, last: int) -> bool:
        """Whether an access to one or two elements as a whole is ordered after the earlier accesses to them."""
        reads, writes = self._words
        earlier = [self._whole, writes[first], writes[last]]
        if kind == WRITE:
            earlier += reads[first], reads[last]
        for access in earlier:
            if access and not comes_before(access, clock):
                return False
        return True

    def _check(self, clock: Clock, line: int, kind: int, earlier_kind: int, accesses: Accesses, start: int) -> None:
        """Raise Race if one of these accesses does not come before the present access."""
        if earlier_kind == WRITE and not comes_before(self._whole, clock):
            raise self._race(line, kind, earlier_kind, self._whole, start)
        low = int(accesses.min())
        if low == int(accesses.max()) and comes_before(low, clock):
            return
        late = clock.seen[accesses >> AT_COMPONENT] < (accesses >> LINE_BITS) & TIME_MASK
        if late.any():
            byte = start + int(np.flatnonzero(late.reshape(-1))[0])
            raise self._race(line, kind, earlier_kind, int(accesses[late].flat[0]), byte)

    def _race(self, line: int, kind: int, earlier_kind: int, access: int, byte: int) -> Race:
        earlier_line = self._lines.text(access & LINE_MASK)
        return Race(
            f"byte {byte} of {self.what} of PE {self.pe} is {VERBS[kind]} at {self._lines.text(line)}, and "
            f"{VERBS[earlier_kind]} at {earlier_line}: nothing orders one before the other"
        )


def comes_before(access: int, clock: Clock) -> bool:
    """Whether an access is ordered before the next access of an actor."""
    return clock.seen.item(access >> AT_COMPONENT) >= (access >> LINE_BITS) & TIME_MASK  # type: ignore[no-any-return]
