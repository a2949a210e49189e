"""Pairwise AllGatherv: every PE puts its part to each other PE, in as many messages as that part needs.

Source: a loop of MPI sends, with a window of two messages for each pair of PEs.  Each PE sends its part n-1 times, in
one latency step.
"""

from ..by_counts.messages import exchange_parts, message_algorithm
from ..by_counts.parts import EACH, exchange_of
from ..records import PE, Parts, Work


def pairwise(pe: PE, call: Parts, work: Work):
    """Part p of out = src of PE p; src may be this PE's part of out.

    inbox, outbox, signals: see ``exchange_parts``
    """
    exchange_parts(exchange_of(pe, call, work, pe.me, EACH))


ALGORITHM = message_algorithm(pairwise)
