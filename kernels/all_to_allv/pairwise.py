"""Pairwise all-to-allv: every PE puts each other PE its part, in as many messages as that part needs.

Source: the pairwise exchange of MPI libraries, with a window of two messages for each pair of PEs.  A PE sends each
part once, in one latency step.
"""

from ..by_counts.messages import exchange_parts, message_algorithm
from ..by_counts.parts import EACH, exchange_of
from ..records import PE, Parts, Work


def pairwise(pe: PE, call: Parts, work: Work):
    """Part p of out = part ``me`` of src of PE p; out may be src if the counts and starts of both are equal.

    inbox, outbox, signals: see ``exchange_parts``
    """
    exchange_parts(exchange_of(pe, call, work, EACH, EACH))


ALGORITHM = message_algorithm(pairwise)
