"""The norm of a sweep, sqrt(sum (new - old)^2), on its way from the kernels over the PEs to the host."""

import math
from typing import Any

import numpy as np

from ..grid.device import Readback, address
from .exact_sum import BAD, COPIES, HALF_BITS, LEAST_BIT, LIMB_BITS, LIMBS, WORDS

SLOTS = 2  # a step adds to one while the norms of the step before are on their way


def norm_of(sums: list[int]) -> float:
    """The norm from the words that a sweep's changes were added to, (WORDS,).  NaN if one was no number."""
    if sums[BAD]:
        return math.nan
    return math.sqrt(math.ldexp(total_of(sums), -LEAST_BIT))  # an int becomes a float with one rounding


def total_of(sums: list[int]) -> int:
    """What the words hold, (WORDS,), in units of 2**-LEAST_BIT."""
    total = 0
    for high, low in zip(sums[:LIMBS], sums[LIMBS:BAD], strict=True):
        total = (total << LIMB_BITS) + (high << HALF_BITS) + low
    return total


def words_shape(team: Any, levels: int) -> tuple[int, int, int]:
    """Of the words for the sweeps of a step: (levels, copies, WORDS) int64, see ``limbs.py``."""
    return levels, COPIES if team.backend == "cuda" else 1, WORDS


def norms_of(before: np.ndarray, after: np.ndarray) -> list[float]:
    """The norm of each level from two readings (levels, copies, WORDS) of its words.

    The words are never reset: differences modulo 2**64 are exact, wrap or not.
    """
    added = after.view(np.uint64) - before.view(np.uint64)
    return [norm_of(sums) for sums in added.sum(axis=1).tolist()]


class Norm:
    """Two sets of words, taken in turn, which the library's AllReduce adds up over the PEs.

    levels: sweeps of a step.  words[slot], int64 (levels, copies, WORDS), is what this PE's rows add to.
    """

    def __init__(self, team: Any, levels: int = 1):
        shape = (SLOTS, *words_shape(team, levels))
        self.team, self.words, self.totals = team, team.zeros(shape, "int64"), team.zeros(shape, "int64")
        self.at = [address(self.words[slot]) for slot in range(SLOTS)]
        self.readbacks = [Readback(team, self.totals[slot]) for slot in range(SLOTS)]
        self._seen = [np.zeros(shape[1:], np.int64) for _ in range(SLOTS)]
        self._opened = self._read = 0
        self.prepare()

    def prepare(self) -> None:
        """Make what ``start`` needs.  Collective."""
        self._plans = [self.team.plan_allreduce(self.words[slot], self.totals[slot], op="sum") for slot in range(SLOTS)]

    def open(self) -> int:
        """The slot of the next norms."""
        self._opened += 1
        return self._opened % SLOTS

    @property
    def pending(self) -> bool:
        """Whether norms were opened and not waited for."""
        return self._read < self._opened

    def start(self, slot: int, stream: Any) -> None:
        """Add up over the PEs and send to the host, in stream order."""
        self._plans[slot](stream=stream)
        self.readbacks[slot].start(stream)

    def arrived(self, slot: int) -> np.ndarray:
        """The sums over the PEs that ``start`` sent."""
        return self.readbacks[slot].wait()

    def wait(self) -> list[float]:
        """The oldest norms that were opened and not read yet, one a level, once they have arrived."""
        self._read += 1
        slot = self._read % SLOTS
        now = self.arrived(slot).copy()
        before, self._seen[slot] = self._seen[slot], now
        return norms_of(before, now)

    def drop(self) -> None:
        """Wait for the norms that are still on their way, and forget them."""
        while self.pending:
            self.wait()

    def free(self) -> None:
        """Give the words back.  Collective."""
        self.team.free(self.words)
        self.team.free(self.totals)
