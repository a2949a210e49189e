"""AllGather by packets: every PE sends its part to everybody, no barrier.

Source: the LL128 protocol of NCCL, as in one_shot_packets.py of AllReduce.  One hop:
the latency of a store and of the poll that sees it.
"""

from ..algorithm import PACKETS, Algorithm, Limits, Place, Plan, by_packets, packet_plan
from ..block import all_to_all_packets, block, blocks, read_epoch, write_epoch


def packets(
    ctx,
    me,
    n_pes,
    item_bytes,
    acc_bytes,
    out,
    src,
    count,
    piece_elems,
    buffer_bytes,
    inbox,
    outbox,
    signals,
    epochs,
    routes,
):
    """out (n_pes, count) = src (count,) of every PE; src may be out[me].

    inbox (blocks, 2 parities, buffer_bytes), a half holds (n_pes sources) slots of packets
    """
    slot_bytes = buffer_bytes // n_pes // 128 * 128
    row_bytes = count * item_bytes
    epoch = read_epoch(epochs, block())
    start = block() * piece_elems
    while start < count:
        epoch += 1
        # All PEs' packets of epoch e+1 prove that all have read epoch e: two parities are enough.
        slots = inbox + (block() * 2 + (epoch & 1)) * buffer_bytes  # (n_pes,) slots
        n = min(piece_elems, count - start) * item_bytes
        low = start * item_bytes
        all_to_all_packets(ctx, out + low, row_bytes, src + low, 0, slots, slot_bytes, n, epoch, me, n_pes)
        start += blocks() * piece_elems
    write_epoch(epochs, block(), epoch)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """See ``packet_plan``; every block sends its share whole."""
    return packet_plan(count, item_bytes, 1, place.n_pes, limits)


ALGORITHM = Algorithm(
    name="packets",
    sentence="every PE's part to everybody in packets that carry their epoch; one hop, no barrier",
    needs="NVLink, or one device or host",
    kernel=packets,
    plan=plan,
    signals=lambda place: 1,
    slots=lambda place, limits: place.n_pes,
    holds=PACKETS,
    outbox=False,
    refuse=by_packets,
)
