"""The norm of a sweep, sqrt(sum (new - old)^2): from the words that kernels add to, over the PEs, to the host."""

import math
from typing import Any

import numpy as np

from ...program.device import Readback, address
from .exact_sum import BAD_WORD, COPIES, FRACTION_BITS, HALF_BITS, LIMB_BITS, LIMBS, WORDS

SLOTS = 2  # one step adds to a slot while the norms of the step before, in the other slot, are summed and read


def norm_of(sums: list[int]) -> float:
    """The norm from the (WORDS,) words that hold a sweep's exact sum.  NaN if a segment was counted as bad."""
    if sums[BAD_WORD]:
        return math.nan
    return math.sqrt(math.ldexp(total_of(sums), -FRACTION_BITS))  # an int becomes a float with one rounding


def total_of(sums: list[int]) -> int:
    """The exact sum in (WORDS,) words, in units of 2**-FRACTION_BITS."""
    total = 0
    for high, low in zip(sums[:LIMBS], sums[LIMBS:BAD_WORD], strict=True):
        total = (total << LIMB_BITS) + (high << HALF_BITS) + low
    return total


def words_shape(team: Any, levels: int) -> tuple[int, int, int]:
    """Shape (levels, copies, WORDS) of the int64 words for a step of ``levels`` sweeps; see ``exact_sum.py``."""
    return levels, COPIES if team.backend == "cuda" else 1, WORDS


def norms_of(before: np.ndarray, after: np.ndarray) -> list[float]:
    """The norm of each level from two readings (levels, copies, WORDS) of its words.

    The words are never reset: their differences modulo 2**64 are exact, even when a word wraps around.
    """
    added = after.view(np.uint64) - before.view(np.uint64)
    return [norm_of(sums) for sums in added.sum(axis=1).tolist()]


class Norm:
    """Two slots of words, used alternately; the library's AllReduce adds them up over the PEs.

    levels: sweeps of a step.  This PE's kernels add to words[slot], int64 (levels, copies, WORDS), whose address is
    at[slot].
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
        """Prepare ``start``.  Collective."""
        self._plans = [self.team.plan_allreduce(self.words[slot], self.totals[slot], op="sum") for slot in range(SLOTS)]

    def open(self) -> int:
        """The slot for the norms of the next step."""
        self._opened += 1
        return self._opened % SLOTS

    def start(self, slot: int, stream: Any) -> None:
        """Enqueue the sum over the PEs and its copy to the host.  Collective."""
        self._plans[slot](stream=stream)
        self.readbacks[slot].start(stream)

    def arrived(self, slot: int) -> np.ndarray:
        """Wait for the sums over the PEs that ``start`` sent: (levels, copies, WORDS)."""
        return self.readbacks[slot].wait()

    def wait(self) -> list[float]:
        """Wait for the norms of the oldest slot that was opened and not read: one norm for each level."""
        self._read += 1
        slot = self._read % SLOTS
        now = self.arrived(slot).copy()
        before, self._seen[slot] = self._seen[slot], now
        return norms_of(before, now)

    def drop(self) -> None:
        """Wait for all pending norms, and discard them."""
        while self._read < self._opened:
            self.wait()

    def free(self) -> None:
        """Free the words.  Collective."""
        self.team.free(self.words)
        self.team.free(self.totals)


class MpiNorm(Norm):
    """Summed by MPI_Allreduce on the host, for the variants that use MPI or NCCL."""

    def prepare(self) -> None:
        self.readbacks = [Readback(self.team, self.words[slot]) for slot in range(SLOTS)]

    def start(self, slot: int, stream: Any) -> None:
        self.readbacks[slot].start(stream)

    def arrived(self, slot: int) -> np.ndarray:
        mine = self.readbacks[slot].wait()
        sums = np.empty_like(mine)
        self.team.comm.Allreduce(mine, sums)
        return sums
