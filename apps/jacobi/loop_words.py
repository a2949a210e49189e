"""The words of a loop of sweeps on the device: a record, for the host by its layout, for kernels by addresses."""

from typing import NamedTuple

import numpy as np

from pennympi.kernels.block import static
from pennympi.kernels.in_kernel import WORDS
from pennympi.kernels.sweep.norm import COPIES, LEVEL_BYTES

SWEEPS = 18  # of a turn of the loop: a multiple of 2 fields and 3 sets of words; each turn costs some us
SETS = 3


class LoopWords(NamedTuple):
    """Addresses of the words of a loop.

    before: sweeps before this turn;  stop: sweeps in all
    valid:  sweeps that count;  ran: sweeps that ran;  epoch: exchanges before the loop
    more:   1.0 while there is another turn
    ended:  (SWEEPS + 2,) 1 if the loop has ended before that sweep of the turn
    due:    (SWEEPS,) 1 if the norm of that sweep of the turn is due
    sets:   (SETS, COPIES, WORDS) words for norms: of a sweep, of the sweep before it, and a set that is cleared
    table:  for each sweep of the loop, 1 if its norm is due; later the norm
    """

    before: int
    stop: int
    valid: int
    ran: int
    epoch: int
    more: int
    ended: int
    due: int
    sets: int
    table: int


def layout(n_sweeps: int) -> np.dtype:
    """The words of a loop of ``n_sweeps`` sweeps at most, all 8 bytes, as a structured dtype."""
    shapes = {"ended": SWEEPS + 2, "due": SWEEPS, "sets": (SETS, COPIES, WORDS), "table": n_sweeps}
    kinds = {"more": "f8"}
    return np.dtype([(name, kinds.get(name, "i8"), shapes.get(name, ())) for name in LoopWords._fields])


OFFSETS = LoopWords(*(field[1] for field in (layout(0).fields or {}).values()))  # in bytes


def loop_at(state):
    """The words of the loop at an address."""
    return LoopWords(*tuple(state + OFFSETS[k] for k in static(len(OFFSETS))))


def set_of(loop: LoopWords, number):
    """Address of the set of words for the norm of a sweep of the turn."""
    return loop.sets + number % SETS * LEVEL_BYTES
