"""Pairwise AllGatherv: every PE puts its part to each other PE, in as many messages as that part needs.

Source: a loop of MPI sends, with a window of two messages for each pair of PEs.  Each PE sends its part n-1 times, in
one latency step.
"""

from ..parts import ALONE, EACH, OWN, sending, taking
from ..parts_messages import exchange_parts, message_algorithm
from ..records import PE, Parts, Work


def pairwise(pe: PE, call: Parts, work: Work):
    """Each part of out = the src of that PE; in place where src is out: then src is this PE's part of it.

    inbox, outbox, signals: see ``exchange_parts``
    """
    send = sending(pe, call, OWN if call.src == call.out else ALONE)
    exchange_parts(pe, send, taking(pe, call, EACH), work)


ALGORITHM = message_algorithm(pairwise)
