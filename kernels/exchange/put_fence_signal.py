"""Exchange, second form: put, fence, then a separate signal.

Source: the Penny worklog, part 1.  Replaces the barrier by a signal between the
two PEs; the fence keeps the signal behind the data.
"""

from ..block import block, blocks, copy, fence, put, read_epoch, signal, wait, write_epoch


def exchange_put_fence_signal(here, me, pe, recv, send, nbytes, max_blocks, piece_bytes, inbox, signals, epochs):
    """recv (nbytes,) = send (nbytes,) of ``pe``, and the other way round; recv may be send.

    inbox   (n_pes sources, max_blocks, 2 parities, piece_bytes) bytes
    signals (n_pes sources, max_blocks) words;  epochs (n_pes, max_blocks), this PE's own
    """
    from_me, from_peer = me * max_blocks + block(), pe * max_blocks + block()
    epoch = read_epoch(epochs, from_peer)
    for low in range(block() * piece_bytes, nbytes, blocks() * piece_bytes):
        epoch += 1
        theirs = inbox + (from_me * 2 + epoch % 2) * piece_bytes
        mine = inbox + (from_peer * 2 + epoch % 2) * piece_bytes
        n = min(piece_bytes, nbytes - low)
        put(here, theirs, send + low, n, pe)
        fence(here)
        signal(here, signals + from_me * 8, epoch, pe)
        wait(here, signals + from_peer * 8, epoch, pe)
        copy(recv + low, mine, n)
    write_epoch(epochs, from_peer, epoch)
