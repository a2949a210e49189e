"""Two-shot AllReduce by packets: the packets of both latency steps carry their epoch, without a barrier.

Source: the barrier-free two-shot of SGLang (pull request 35192), with packets in place of a sentinel value, so that it
works for every dtype and every value.
"""

from functools import partial

from ..algorithm import ROUND_TWICE, per_pe
from ..cost import Shots, shots_us
from ..packets import receive_packets, receive_plus, reduce_forward_packets, send_packets
from ..plans import packet_algorithm
from ..records import PE, Message, Packets, Reduction, Slots, Work
from ..slots import outbox_of, packet_slots, slot_at
from ..steps import first_count, peer, piece, store_count, tag_epoch


def send_parts(pe: PE, call: Reduction, start: int, slot: int, epoch: int):
    """Send to every other PE, to ``slot``, this PE's part of that PE's chunk."""
    for k in range(1, pe.n_pes):
        to = peer(pe, k)
        part = piece(call, start, to)
        send_packets(pe.ctx, Message(slot, part.src, part.nbytes, to), epoch)


def receive_reduced(pe: PE, call: Reduction, start: int, reduced: Slots, epoch: int):
    """Receive from every other PE the chunk that it has reduced."""
    for k in range(1, pe.n_pes):
        source = peer(pe, k)
        chunk = piece(call, start, source)
        slot = slot_at(reduced, source)
        if call.residual:
            receive_plus(pe.ctx, chunk, slot, epoch, source)
        else:
            receive_packets(pe.ctx, Message(chunk.out, slot, chunk.nbytes, source), epoch)


def two_shot_packets(pe: PE, call: Reduction, work: Work):
    """out (n_elems,) = op over all PEs of src (n_elems,), plus residual (n_elems,) if not 0; out may be src or residual.

    The result is rounded before it travels, and once more when the residual is added.

    inbox  (blocks, 2 buffers), a buffer holds (2 shots, n_pes sources) slots of packets
    outbox (blocks, 2 buffers) is scratch
    """
    round_elems = pe.n_pes * call.piece_elems
    count, start, stride = first_count(work, round_elems)
    while start < call.n_elems:
        count += 1
        epoch = tag_epoch(work, count)
        # A PE sends reduced chunks of epoch e+1 after it has read all packets of epoch e: two buffers suffice.
        parts = packet_slots(work, count, 2 * pe.n_pes)
        reduced = Slots(slot_at(parts, pe.n_pes), parts.nbytes)  # (n_pes,)
        send_parts(pe, call, start, slot_at(parts, pe.me), epoch)

        own = piece(call, start, pe.me)
        scratch = outbox_of(work, count)
        reduce_forward_packets(pe, own, Packets(parts, epoch), reduced.address, scratch)
        receive_reduced(pe, call, start, reduced, epoch)
        start += stride
    store_count(work, count)


ALGORITHM = packet_algorithm(
    two_shot_packets, slots=per_pe(2), shares=per_pe(1),
    cost_us=partial(shots_us, shots=Shots(2, packets=True, overlaps=False)), residual=ROUND_TWICE, canonical=True,
)  # fmt: skip
