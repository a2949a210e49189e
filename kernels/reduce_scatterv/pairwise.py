"""Pairwise ReduceScatterv: every PE puts each other PE its part, which adds up what came in the order of the PEs.

Source: the pairwise exchange of MPI libraries, with a window of two messages for each pair of PEs.  Each PE sends n-1
parts, in one latency step.
"""

from ..block import sync
from ..by_counts.messages import message_algorithm, put_round, reduce_round
from ..by_counts.parts import EACH, copy_own, exchange_of
from ..records import PE, Parts, Work


def pairwise(pe: PE, call: Parts, work: Work):
    """out = op over all PEs of part ``me`` of src; out may be that part.

    inbox, signals: see ``exchange_parts``;  outbox: the same, and slot ``me`` is scratch for the partials of a piece
    """
    x = exchange_of(pe, call, work, EACH, pe.me)
    if pe.n_pes == 1:
        copy_own(x)
        return
    r, more = 0, True
    while more:
        more = put_round(x, r)
        later = reduce_round(x, r)
        more = more or later
        r += 1
        sync()  # the counts of this round are there


ALGORITHM = message_algorithm(pairwise)
