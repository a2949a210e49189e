"""The words of a loop of sweeps on the device: a structured dtype for the host, a record of addresses for kernels."""

from typing import NamedTuple

import numpy as np

from pennympi.kernels.block import static
from pennympi.kernels.in_kernel import WORDS
from pennympi.kernels.sweep.norm import COPIES, LEVEL_BYTES

SWEEPS = 18  # sweeps of a turn: a multiple of 2 fields and of SETS; each turn costs some us
SETS = 3


class LoopWords(NamedTuple):
    """Addresses of the words of a loop.

    before: number of sweeps before this turn;  stop: number of sweeps of the loop
    valid:  number of sweeps that count;  ran: number of sweeps that ran
    epoch:  number of exchanges before the loop
    more:   1.0 while another turn follows
    ended:  (SWEEPS + 2,) for each sweep of the turn 1 if the loop ended before it
    due:    (SWEEPS,) for each sweep of the turn 1 if its norm is due
    sets:   (SETS, COPIES, WORDS) words for norms: of a sweep, of the previous sweep, and a set that is cleared
    table:  for each sweep of the loop 1 if its norm is due, later the norm
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
    """The words of a loop of at most ``n_sweeps`` sweeps, of 8 bytes each, as a structured dtype."""
    shapes = {"ended": SWEEPS + 2, "due": SWEEPS, "sets": (SETS, COPIES, WORDS), "table": n_sweeps}
    kinds = {"more": "f8"}
    return np.dtype([(name, kinds.get(name, "i8"), shapes.get(name, ())) for name in LoopWords._fields])


OFFSETS = LoopWords(*(field[1] for field in (layout(0).fields or {}).values()))  # bytes from the start of the words


def loop_at(state):
    """The addresses of the words of a loop, which begin at ``state``."""
    return LoopWords(*tuple(state + OFFSETS[k] for k in static(len(OFFSETS))))


def set_of(loop: LoopWords, number):
    """Address of the set of words for the norm of sweep ``number`` of the turn."""
    return loop.sets + number % SETS * LEVEL_BYTES
