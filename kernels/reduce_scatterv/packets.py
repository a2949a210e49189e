"""ReduceScatterv by packets: every PE sends each other PE its part, and a PE adds up its parts; one latency step.

Source: the LL128 protocol of NCCL, with a head that holds the length of the part.
"""

from ..by_counts.packets import add_up, epoch_of, packet_algorithm, send_round, take_round
from ..by_counts.parts import EACH, copy_own, exchange_of
from ..records import PE, Parts, Work
from ..steps import peer


def packets(pe: PE, call: Parts, work: Work):
    """out = op over all PEs of part ``me`` of src; out may be that part.

    inbox, signals: see ``exchange_parts``;  outbox: (blocks, 2 buffers), heads, and scratch for the partials of a piece
    """
    x = exchange_of(pe, call, work, EACH, pe.me)
    if pe.n_pes == 1:
        copy_own(x)
        return
    epoch, r, goes_on = epoch_of(x, peer(pe, 1), 0), 0, True
    has_next = send_round(x, 0)
    while goes_on:
        goes_on = has_next
        if goes_on:
            has_next = send_round(x, r + 1)
        take_round(x, r, not goes_on)
        add_up(x, r, epoch + r)
        r += 1


ALGORITHM = packet_algorithm(packets)
