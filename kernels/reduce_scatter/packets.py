"""ReduceScatter by packets: every PE sends each other PE its chunk, without a barrier; one latency step.

Source: the LL128 protocol of NCCL.
"""

from ..packets import exchange_reduce_packets
from ..plans import packet_algorithm
from ..records import PE, Packets, Reduction, Work
from ..slots import outbox_of, packet_slots
from ..steps import first_round, piece, store_epoch


def packets(pe: PE, call: Reduction, work: Work):
    """out (n_elems,) = op over all PEs of chunk ``me`` of src (n_pes, n_elems); out may be src[me].

    inbox  (blocks, 2 buffers), a buffer holds (n_pes sources,) slots of packets
    outbox (blocks, 2 buffers) is scratch
    """
    chunk_bytes = call.n_elems * call.item_bytes
    epoch, start, stride = first_round(work, call.piece_elems)
    while start < call.n_elems:
        epoch += 1
        # When packets of epoch e+1 have come from all PEs, all PEs have read epoch e: two buffers suffice.
        incoming = Packets(packet_slots(work, epoch, pe.n_pes), epoch)
        exchange_reduce_packets(pe, piece(call, start), chunk_bytes, incoming, outbox_of(work, epoch))
        start += stride
    store_epoch(work, epoch)


ALGORITHM = packet_algorithm(packets)
