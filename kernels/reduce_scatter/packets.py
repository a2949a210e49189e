"""ReduceScatter by packets: every PE sends everybody its chunk, no barrier.

Source: the LL128 protocol of NCCL, as in one_shot_packets.py of AllReduce.  One hop:
the latency of a store and of the poll that sees it.
"""

from ..algorithm import PACKETS, Algorithm, Limits, Place, Plan, by_packets, packet_plan
from ..block import block, blocks, exchange_reduce_packets, read_epoch, write_epoch


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
    """out (count,) = op over all PEs of chunk ``me`` of src (n_pes, count); out may be src[me].

    inbox  (blocks, 2 parities, buffer_bytes), a half holds (n_pes sources) slots of packets
    outbox (blocks, 2 parities, buffer_bytes) is scratch
    """
    slot_bytes = buffer_bytes // n_pes // 128 * 128
    row_bytes = count * item_bytes
    epoch = read_epoch(epochs, block())
    low = block() * piece_elems
    while low < count:
        epoch += 1
        # All PEs' packets of epoch e+1 prove that all have read epoch e: two parities are enough.
        half = (block() * 2 + (epoch & 1)) * buffer_bytes
        n = min(piece_elems, count - low)
        at = low * item_bytes
        exchange_reduce_packets(
            ctx, out + at, inbox + half, slot_bytes, src + at, n, epoch, outbox + half, me, n_pes, row_bytes
        )  # fmt: skip
        low += blocks() * piece_elems
    write_epoch(epochs, block(), epoch)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """See ``packet_plan``; every block sends its share whole."""
    return packet_plan(count, item_bytes, 1, place.n_pes, limits)


ALGORITHM = Algorithm(
    name="packets",
    sentence="every PE's chunk to it in packets that carry their epoch; one hop, no barrier",
    needs="NVLink, or one device or host",
    kernel=packets,
    plan=plan,
    signals=lambda place: 1,
    slots=lambda place, limits: place.n_pes,
    holds=PACKETS,
    outbox=False,
    refuse=by_packets,
)
