"""All-to-allv by packets: every PE sends each other PE its part, without a barrier; one latency step.

Source: the LL128 protocol of NCCL, with a head that holds the length of the part.
"""

from ..by_counts.packets import exchange_parts, packet_algorithm
from ..by_counts.parts import EACH, exchange_of
from ..records import PE, Parts, Work


def packets(pe: PE, call: Parts, work: Work):
    """Part p of out = part ``me`` of src of PE p; out may be src if the counts and starts of both are equal.

    inbox, outbox, signals: see ``exchange_parts``
    """
    exchange_parts(exchange_of(pe, call, work, EACH, EACH))


ALGORITHM = packet_algorithm(packets)
