"""The norm of a sweep, sqrt(sum (new - old)^2), with the same bits for every number of PEs."""

import math
from typing import Any

from .device import Readback, address
from .sweep import BAD_ROWS, LEAST_BIT, LIMB_BITS, LIMBS

WORDS = 8  # the limbs, the count of bad rows, and padding to 64 bytes
SLOTS = 2  # a sweep adds to one while the norm of the sweep before is on its way
MASK = (1 << 64) - 1


def norm_of(before: list[int], after: list[int]) -> float:
    """The norm from what was added to the words between two readings.  NaN if a row was bad.

    The words are never reset: differences modulo 2**64 are exact, wrap or not.
    """
    added = [(new - old) & MASK for new, old in zip(after, before, strict=True)]
    if added[BAD_ROWS]:
        return math.nan
    total = 0
    for limb in added[:LIMBS]:
        total = (total << LIMB_BITS) + limb
    return math.sqrt(math.ldexp(total, -LEAST_BIT))  # an int becomes a float with one rounding


class Norm:
    """Two sets of words, taken in turn, and their way over the PEs to the host.

    words[slot]: int64 (8,), what this PE's rows add to;  totals[slot]: the sum over the PEs
    """

    def __init__(self, team: Any):
        self.words = team.zeros((SLOTS, WORDS), "int64")
        self._totals = team.zeros((SLOTS, WORDS), "int64")
        self.at = [address(self.words[slot]) for slot in range(SLOTS)]
        self._plans = [team.plan_allreduce(self.words[slot], self._totals[slot], op="sum") for slot in range(SLOTS)]
        self._readbacks = [Readback(team, self._totals[slot]) for slot in range(SLOTS)]
        self._seen = [[0] * WORDS for _ in range(SLOTS)]
        self._opened = self._read = 0

    def open(self) -> int:
        """The slot of the next norm."""
        self._opened += 1
        return self._opened % SLOTS

    def start(self, slot: int, stream: Any) -> None:
        """Add up over the PEs and send to the host, in stream order."""
        self._plans[slot](stream=stream)
        self._readbacks[slot].start(stream)

    def wait(self) -> float:
        """The oldest norm that was opened and not read yet, once ``start`` has sent it."""
        self._read += 1
        slot = self._read % SLOTS
        now = [int(word) for word in self._readbacks[slot].wait()]
        before, self._seen[slot] = self._seen[slot], now
        return norm_of(before, now)

    def drop(self) -> None:
        """Wait for the norms that are still on their way, and forget them."""
        while self._read < self._opened:
            self.wait()
