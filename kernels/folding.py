"""Any number of PEs made a power of two, as exchanges with the PE at a distance of 1, 2, 4, ... need it.

As in MPICH, of n PEs the largest power of two p in n exchange.  The first 2 (n - p) PEs are pairs: the even one sits
out, gives its vector to the odd one, and gets the result from it at the end.
"""

from typing import NamedTuple

from .records import PE


class Folded(NamedTuple):
    """A team folded to a power of two.

    p:    PEs that exchange, with new numbers 0, ..., p - 1;  rem: PEs that sit out
    rank: this PE's new number, or that of the other one of its pair if it sits out
    """

    p: int
    rem: int
    rank: int


def pof2(n_pes):
    """The largest power of two that is not above ``n_pes``."""
    p = 1
    while 2 * p <= n_pes:
        p *= 2
    return p


def log2(p):
    """The logarithm of a power of two."""
    power = 0
    while 1 << power < p:
        power += 1
    return power


def folded(pe: PE) -> Folded:
    """The team of this PE."""
    p = pof2(pe.n_pes)
    rem = pe.n_pes - p
    return Folded(p, rem, pe.me // 2 if pe.me < 2 * rem else pe.me - rem)


def old_rank(rank, rem):
    """The PE with a new number."""
    return 2 * rank + 1 if rank < rem else rank + rem


def in_pair(pe: PE, fold: Folded) -> bool:
    """Whether this PE is one of a pair."""
    return pe.me < 2 * fold.rem


def sits_out(pe: PE, fold: Folded) -> bool:
    """Whether this PE is the even one of a pair."""
    return in_pair(pe, fold) and pe.me % 2 == 0
