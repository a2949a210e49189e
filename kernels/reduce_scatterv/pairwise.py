"""Pairwise ReduceScatterv: every PE puts each other PE its part, and a PE adds up its parts in the order of the PEs.

Source: the pairwise exchange of MPI libraries, with a window of two messages for each pair of PEs.  Each PE sends n-1
parts, in one latency step.
"""

from ..block import sync
from ..by_counts.messages import message_algorithm, put_round, reduce_round
from ..by_counts.parts import EACH, copy_own, exchange_of
from ..records import PE, Parts, Work


def pairwise(pe: PE, call: Parts, work: Work):
    """out = op over all PEs of part ``me`` of src; out may be that part.

    inbox, outbox, signals: see ``exchange_parts``;  slot ``me`` of the outbox is scratch for the partials of a piece
    """
    x = exchange_of(pe, call, work, EACH, pe.me)
    if pe.n_pes == 1:
        copy_own(x)
        return
    r, has_next = 0, True
    while has_next:
        has_next = put_round(x, r)
        takes_next = reduce_round(x, r)
        has_next = has_next or takes_next
        r += 1
        sync()  # now all threads see the counts of this round


ALGORITHM = message_algorithm(pairwise)
