"""Exchange, first form: put, then a barrier of all PEs.

Source: the Penny worklog, part 1.  The simplest thing that is right: after the
barrier every put has landed.  All PEs of the team take part, each with its own
partner (itself, when it has none).
"""

from ..block import block, blocks, copy, fence, put, read_epoch, signal_all, staged, wait_all, write_epoch


def exchange_put_barrier(ctx, me, n_pes, pe, recv, send, nbytes, piece_bytes, inbox, outbox, signals, epochs):
    """recv (nbytes,) = send (nbytes,) of ``pe``, and the other way round; recv may be send.

    inbox   (max_blocks, 2 parities, piece_bytes) bytes
    outbox  (max_blocks, piece_bytes) bytes, which a piece may start from
    signals (max_blocks, 2 parities, n_pes sources) words;  epochs (max_blocks,), this PE's own
    """
    epoch = read_epoch(epochs, block())
    for low in range(block() * piece_bytes, nbytes, blocks() * piece_bytes):
        epoch += 1
        # All PEs' signals of epoch e+1 prove that all have read epoch e: two parities are enough, of slots and words.
        parity = block() * 2 + (epoch & 1)
        slot = inbox + parity * piece_bytes
        arrived = signals + parity * n_pes * 8  # (n_pes,) words
        n = min(piece_bytes, nbytes - low)
        put(ctx, slot, staged(ctx, outbox + block() * piece_bytes, send + low, n, pe), n, pe)
        fence(ctx)
        signal_all(ctx, arrived, epoch, me, n_pes)
        wait_all(ctx, arrived, epoch, me, n_pes)
        copy(recv + low, slot, n)
    write_epoch(epochs, block(), epoch)
