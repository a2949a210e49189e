"""Pairwise ReduceScatterv: every PE puts each other PE its part, which adds up what came in the order of the PEs.

Source: the pairwise exchange of MPI libraries, with a window of two messages for each pair of PEs.  Each PE sends n-1
parts, in one latency step.
"""

from ..block import sync
from ..parts import ALONE, EACH, copy_own, sending, taking
from ..parts_messages import message_algorithm, put_round, reduce_round
from ..records import PE, Parts, Work


def pairwise(pe: PE, call: Parts, work: Work):
    """out = op over all PEs of part ``me`` of src; out may be that part.

    inbox, signals: see ``exchange_parts``;  outbox: the same, and slot ``me`` is scratch for the partials of a piece
    """
    src, out = sending(pe, call, EACH), taking(pe, call, ALONE)
    if pe.n_pes == 1:
        copy_own(pe, src, out)
        return
    r, more = 0, True
    while more:
        more = put_round(pe, src, work, r)
        later = reduce_round(pe, src, out, work, r)
        more = more or later
        r += 1
        sync()  # the counts of this round are there


ALGORITHM = message_algorithm(pairwise)
