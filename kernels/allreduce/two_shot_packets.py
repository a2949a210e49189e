"""Two-shot AllReduce by packets: both hops carry their epoch, nothing else is waited for.

Source: the barrier-free two-shot of SGLang (pull request 35192), with packets
in place of a sentinel, so that every dtype and every value will do.
"""

from ..algorithm import PACKETS, Algorithm, Limits, Place, Plan, by_packets, packet_plan
from ..block import (
    block,
    blocks,
    read_epoch,
    receive_packets,
    receive_plus,
    reduce_forward_packets,
    send_packets,
    write_epoch,
)


def two_shot_packets(
    ctx, me, n_pes, item_bytes, acc_bytes, out, src, count, piece_elems, buffer_bytes, inbox, outbox, signals, epochs,
    routes, residual,
):  # fmt: skip
    """out (count,) = op over all PEs of src (count,), plus residual (count,) if not 0; out may be src or residual.

    The result is rounded before it travels, and once more when the residual is added.

    inbox  (blocks, 2 parities, buffer_bytes), a half holds (2 shots, n_pes sources) slots of packets
    outbox is scratch
    """
    slot_bytes = buffer_bytes // (2 * n_pes) // 128 * 128
    epoch = read_epoch(epochs, block())
    start = block() * n_pes * piece_elems
    while start < count:
        epoch += 1
        # A PE's second packets of epoch e+1 prove that it has read all of epoch e: two parities are enough.
        half = (block() * 2 + (epoch & 1)) * buffer_bytes
        parts = inbox + half  # (n_pes,) slots
        reduced = parts + n_pes * slot_bytes  # (n_pes,) slots

        for k in range(1, n_pes):
            pe = (me + k) % n_pes
            low = start + pe * piece_elems
            n = max(0, min(piece_elems, count - low))
            send_packets(ctx, parts + me * slot_bytes, src + low * item_bytes, n * item_bytes, epoch, pe)

        low = start + me * piece_elems
        n = max(0, min(piece_elems, count - low))
        at = low * item_bytes
        rest = residual + at if residual else 0
        scratch = outbox + half
        reduce_forward_packets(ctx, out + at, parts, reduced, slot_bytes, src + at, n, epoch, scratch, me, n_pes, rest)

        for k in range(1, n_pes):
            pe = (me + k) % n_pes
            low = start + pe * piece_elems
            n = max(0, min(piece_elems, count - low))
            at = low * item_bytes
            if residual:
                receive_plus(ctx, out + at, reduced + pe * slot_bytes, residual + at, n, epoch, pe)
            else:
                receive_packets(ctx, out + at, reduced + pe * slot_bytes, n * item_bytes, epoch, pe)
        start += blocks() * n_pes * piece_elems
    write_epoch(epochs, block(), epoch)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """See ``packet_plan``; every block sends each PE its chunk."""
    return packet_plan(count, item_bytes, place.n_pes, 2 * place.n_pes, limits)


ALGORITHM = Algorithm(
    name="two_shot_packets",
    sentence="two hops of packets that carry their epoch; no barrier, 2 (n-1)/n of the vector",
    needs="NVLink, or one device or host",
    kernel=two_shot_packets,
    plan=plan,
    signals=lambda place: 1,
    slots=lambda place, limits: 2 * place.n_pes,
    holds=PACKETS,
    outbox=False,
    refuse=by_packets,
    residual=True,
)
