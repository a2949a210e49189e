"""All-to-allv by packets: every PE sends each other PE its part, without a barrier; one latency step.

Source: the LL128 protocol of NCCL, with a head that has the length of the part.
"""

from ..parts import EACH, sending, taking
from ..parts_packets import exchange_parts, packet_algorithm
from ..records import PE, Parts, Work


def packets(pe: PE, call: Parts, work: Work):
    """Each part of out = the part for this PE of that PE's src; out may be src, where counts and starts are alike.

    inbox, outbox, signals: see ``exchange_parts``
    """
    exchange_parts(pe, sending(pe, call, EACH), taking(pe, call, EACH), work)


ALGORITHM = packet_algorithm(packets)
