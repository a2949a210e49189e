"""Exchange, first form: put, then a barrier of all PEs.

Source: the Penny worklog, part 1.  The simplest thing that is right: after the
barrier every put has landed.  All PEs of the team take part, each with its own
partner (itself, when it has none).
"""

from ..block import block, blocks, copy, fence, put, read_epoch, signal_all, wait_all, write_epoch


def exchange_put_barrier(here, me, n_pes, pe, recv, send, nbytes, piece_bytes, inbox, signals, epochs):
    """recv (nbytes,) = send (nbytes,) of ``pe``, and the other way round; recv may be send.

    inbox   (max_blocks, 2 parities, piece_bytes) bytes
    signals (max_blocks, n_pes sources) words;  epochs (max_blocks,), this PE's own
    """
    arrived = signals + block() * n_pes * 8  # (n_pes,) words
    epoch = read_epoch(epochs, block())
    for low in range(block() * piece_bytes, nbytes, blocks() * piece_bytes):
        epoch += 1
        slot = inbox + (block() * 2 + epoch % 2) * piece_bytes
        n = min(piece_bytes, nbytes - low)
        put(here, slot, send + low, n, pe)
        fence(here)
        signal_all(here, arrived, epoch, me, n_pes)
        wait_all(here, arrived, epoch, me, n_pes)
        copy(recv + low, slot, n)
    write_epoch(epochs, block(), epoch)
