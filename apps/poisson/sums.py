"""The sums of the iterations of a round: words of this PE, the sums over all PEs, and their floats on the host."""

from typing import Any

import numpy as np

from pennympi.kernels.in_kernel import WORDS, WORDS_BYTES, SumWords, as_float

from ..program.device import Readback, address
from .records import SLOT_BYTES, SUMS

NOW = 1  # the slot of a round's first iteration; before it lies that of the iteration before


class Sums:
    """Slots of SUMS sums: two that a round begins with, and one for each of its iterations.

    words: int64 (slots, SUMS, WORDS), what this PE's kernels add to;  totals: the same summed over the PEs
    """

    def __init__(self, team: Any, check: int):
        shape = (check + 2, SUMS, WORDS)
        self.team, self.words, self.totals = team, team.zeros(shape, "int64"), team.zeros(shape, "int64")
        self.readback = Readback(team, self.totals)

    def part(self, slot: int, which: int) -> tuple[Any, Any]:
        """Views (WORDS,) of a sum (PAP or RR) of a slot: of the words, and of the totals."""
        return self.words[slot, which // WORDS_BYTES], self.totals[slot, which // WORDS_BYTES]

    def addresses(self, slot: int) -> tuple[int, int]:
        """Of a slot's totals and words."""
        return address(self.totals) + slot * SLOT_BYTES, address(self.words) + slot * SLOT_BYTES

    def begin(self, stream: Any) -> None:
        """Before a round that follows another: its first slots are the last ones of that."""
        with stream:
            self.words[...] = 0
            self.totals[: NOW + 1] = self.totals[-2:].copy()

    def restart(self, stream: Any) -> None:
        """Forget all sums: the next iteration begins a new sequence of directions."""
        with stream:
            self.words[...] = 0
            self.totals[...] = 0

    def read(self, stream: Any) -> np.ndarray:
        """Wait for the totals of all slots as float64 (slots, SUMS)."""
        self.readback.start(stream)
        return floats(self.readback.wait())

    def free(self) -> None:
        """Free the words.  Collective."""
        self.team.free(self.words)
        self.team.free(self.totals)


def floats(totals: np.ndarray) -> np.ndarray:
    """The sums in words (..., WORDS) as float64 (...)."""
    flat = totals.reshape(-1, WORDS)[:, : len(SumWords._fields)].tolist()
    return np.array([as_float(SumWords(*one)) for one in flat]).reshape(totals.shape[:-1])
