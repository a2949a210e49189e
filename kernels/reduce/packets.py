"""Reduce by packets: everybody sends the root everything, no barrier.

Source: the LL128 protocol of NCCL, as in one_shot_packets.py of AllReduce.  One hop;
the root receives the vector n-1 times.
"""

from ..algorithm import PACKETS, Algorithm, Limits, Place, Plan, by_packets, packet_plan
from ..block import block, blocks, combine_packets, read_epoch, send_packets, signal_all, wait, write_epoch


def packets(
    ctx, me, n_pes, item_bytes, acc_bytes, out, src, count, piece_elems, buffer_bytes, inbox, outbox, signals, epochs,
    routes, root,
):  # fmt: skip
    """On PE root, out (count,) = op over all PEs of src (count,); out may be src.

    inbox   (blocks, 2 parities, buffer_bytes), a half holds (n_pes sources) slots of packets
    outbox  (blocks, 2 parities, buffer_bytes) is scratch
    signals (blocks, n_pes) words: the epoch that a PE has read, or needs no more
    """
    slot_bytes = buffer_bytes // n_pes // 128 * 128
    read = signals + block() * n_pes * 8  # (n_pes,) words
    epoch = read_epoch(epochs, block())
    low = block() * piece_elems
    while low < count:
        epoch += 1
        half = (block() * 2 + (epoch & 1)) * buffer_bytes
        n = min(piece_elems, count - low)
        at = low * item_bytes
        if me == root:
            combine_packets(
                ctx, out + at, inbox + half, slot_bytes, src + at, n, epoch, outbox + half, me, n_pes
            )  # fmt: skip
            signal_all(ctx, read, epoch, me, n_pes)
        else:
            wait(ctx, read + root * 8, epoch - 2, root)  # the packets that these overwrite
            send_packets(ctx, inbox + half + me * slot_bytes, src + at, n * item_bytes, epoch, root)
        low += blocks() * piece_elems
    if me != root:
        signal_all(ctx, read, epoch, me, n_pes)  # for this PE may be the root next time
    write_epoch(epochs, block(), epoch)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """One part of a packet a thread, in as many blocks as that takes; then more parts a thread."""
    return packet_plan(count, item_bytes, 1, place.n_pes, limits)


ALGORITHM = Algorithm(
    name="packets",
    sentence="everybody sends the root everything in packets that carry their epoch; one hop",
    needs="NVLink, or one device or host",
    kernel=packets,
    plan=plan,
    signals=lambda place: place.n_pes,
    slots=lambda place, limits: place.n_pes,
    holds=PACKETS,
    outbox=False,
    refuse=by_packets,
)
