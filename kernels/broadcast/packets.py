"""Broadcast by packets: the root sends everybody everything, no barrier.

Source: the LL128 protocol of NCCL, as in one_shot_packets.py of AllReduce.  One hop;
the root sends the vector n-1 times.
"""

from ..algorithm import PACKETS, Algorithm, Limits, Place, Plan, by_packets, packet_plan
from ..block import block, blocks, read_epoch, receive_packets, send_packets, signal_all, wait_all, write_epoch


def packets(
    ctx, me, n_pes, item_bytes, acc_bytes, out, src, count, piece_elems, buffer_bytes, inbox, outbox, signals, epochs,
    routes, root,
):  # fmt: skip
    """out (count,) = src (count,) of PE root; out is src.

    inbox   (blocks, 2 parities, buffer_bytes), a half is a slot of packets
    signals (blocks, n_pes) words: the epoch that a PE has read, or needs no more
    """
    read = signals + block() * n_pes * 8  # (n_pes,) words
    epoch = read_epoch(epochs, block())
    start = block() * piece_elems
    while start < count:
        epoch += 1
        slot = inbox + (block() * 2 + (epoch & 1)) * buffer_bytes
        n = min(piece_elems, count - start) * item_bytes
        low = start * item_bytes
        if me == root:
            wait_all(ctx, read, epoch - 2, me, n_pes)  # the packets that these overwrite
            for k in range(1, n_pes):
                send_packets(ctx, slot, src + low, n, epoch, (me + k) % n_pes)
        else:
            receive_packets(ctx, out + low, slot, n, epoch, root)
            signal_all(ctx, read, epoch, me, n_pes)  # to all, for another may be the root next time
        start += blocks() * piece_elems
    if me == root:
        signal_all(ctx, read, epoch, me, n_pes)
    write_epoch(epochs, block(), epoch)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """One part of a packet a thread, in as many blocks as that takes; then more parts a thread."""
    return packet_plan(count, item_bytes, 1, 1, limits)


ALGORITHM = Algorithm(
    name="packets",
    sentence="the root sends everybody everything in packets that carry their epoch; one hop",
    needs="NVLink, or one device or host",
    kernel=packets,
    plan=plan,
    signals=lambda place: place.n_pes,
    slots=lambda place, limits: 1,
    holds=PACKETS,
    outbox=False,
    refuse=by_packets,
)
