"""ReduceScatter by packets: every PE sends each other PE its chunk, without a barrier; one latency step.

Source: the LL128 protocol of NCCL.  One latency step.
"""

from ..algorithm import PACKET_BYTES
from ..block import exchange_reduce_packets
from ..plans import packet_algorithm
from ..records import PE, Reduction, Work
from ..steps import buffer, first_start, load_epoch, piece, slots_in, store_epoch, stride_of


def packets(pe: PE, call: Reduction, work: Work):
    """out (n_elems,) = op over all PEs of chunk ``me`` of src (n_pes, n_elems); out may be src[me].

    inbox  (blocks, 2 buffers), a buffer holds (n_pes sources,) slots of packets
    outbox (blocks, 2 buffers) is scratch
    """
    chunk_bytes = call.n_elems * call.item_bytes
    epoch, start = load_epoch(work), first_start(call.piece_elems)
    while start < call.n_elems:
        epoch += 1
        # All PEs' packets of epoch e+1 prove that all have read epoch e: two buffers are enough.
        slots = slots_in(work.inbox + buffer(work, epoch), work.buffer_bytes, pe.n_pes, PACKET_BYTES)
        scratch = work.outbox + buffer(work, epoch)
        own = piece(call, start)
        exchange_reduce_packets(
            pe.ctx, call.out + own.offset_bytes, slots.address, slots.nbytes, call.src + own.offset_bytes, own.n_elems,
            epoch, scratch, pe.me, pe.n_pes, chunk_bytes,
        )  # fmt: skip
        start += stride_of(call.piece_elems)
    store_epoch(work, epoch)


ALGORITHM = packet_algorithm(packets)
