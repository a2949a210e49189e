"""AllGatherv by packets: every PE sends its part to each other PE, without a barrier; one latency step.

Source: the LL128 protocol of NCCL, with a head that has the length of the part.
"""

from ..parts import ALONE, EACH, OWN, sending, taking
from ..parts_packets import exchange_parts, packet_algorithm
from ..records import PE, Parts, Work


def packets(pe: PE, call: Parts, work: Work):
    """Each part of out = the src of that PE; in place where src is out: then src is this PE's part of it.

    inbox, outbox, signals: see ``exchange_parts``
    """
    send = sending(pe, call, OWN if call.src == call.out else ALONE)
    exchange_parts(pe, send, taking(pe, call, EACH), work)


ALGORITHM = packet_algorithm(packets)
