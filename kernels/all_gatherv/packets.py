"""AllGatherv by packets: every PE sends its part to each other PE, without a barrier; one latency step.

Source: the LL128 protocol of NCCL, with a head that holds the length of the part.
"""

from ..by_counts.packets import exchange_parts, packet_algorithm
from ..by_counts.parts import EACH, exchange_of
from ..records import PE, Parts, Work


def packets(pe: PE, call: Parts, work: Work):
    """Part p of out = src of PE p; src may be this PE's part of out.

    inbox, outbox, signals: see ``exchange_parts``
    """
    exchange_parts(exchange_of(pe, call, work, pe.me, EACH))


ALGORITHM = packet_algorithm(packets)
