"""Folding: exchanges with the PE at distance 1, 2, 4, ... need a power of two of PEs.

As in MPICH, p of n PEs exchange, the largest power of two in n.  The first 2 (n - p) PEs are pairs: the even PE sits out,
sends its vector to the odd PE, and gets the result from it at the end.
"""

from typing import NamedTuple

from .records import PE


class Folded(NamedTuple):
    """A team folded to a power of two.

    p:    number of PEs that exchange, with new numbers 0, ..., p - 1;  rem: number of PEs that sit out
    rank: new number of this PE, or of its pair's odd PE if this PE sits out
    """

    p: int
    rem: int
    rank: int


def pof2(n_pes):
    """The largest power of two that is at most ``n_pes``."""
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
    """Number of the PE that has a new number."""
    return 2 * rank + 1 if rank < rem else rank + rem


def in_pair(pe: PE, fold: Folded) -> bool:
    """Whether this PE belongs to a pair."""
    return pe.me < 2 * fold.rem


def sits_out(pe: PE, fold: Folded) -> bool:
    """Whether this PE is the even PE of a pair."""
    return in_pair(pe, fold) and pe.me % 2 == 0
