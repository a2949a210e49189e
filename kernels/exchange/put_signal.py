"""Exchange, fused form: each message is one put_signal; one thread waits.

Source: the Penny worklog, part 1.  The put orders its own signal, so nothing
else is needed, and the two PEs never meet at a barrier.
"""

from ..block import block, blocks, copy, put_signal, read_epoch, wait, write_epoch


def exchange_put_signal(here, me, pe, recv, send, nbytes, max_blocks, piece_bytes, inbox, signals, epochs):
    """recv (nbytes,) = send (nbytes,) of ``pe``, and the other way round; recv may be send.

    inbox   (n_pes sources, max_blocks, 2 parities, piece_bytes) bytes
    signals (n_pes sources, max_blocks) words;  epochs (n_pes, max_blocks), this PE's own
    """
    from_me, from_peer = me * max_blocks + block(), pe * max_blocks + block()
    epoch = read_epoch(epochs, from_peer)
    for low in range(block() * piece_bytes, nbytes, blocks() * piece_bytes):
        epoch += 1
        # The peer's message of epoch e+1 proves that it has read epoch e: two parities are enough.
        theirs = inbox + (from_me * 2 + epoch % 2) * piece_bytes
        mine = inbox + (from_peer * 2 + epoch % 2) * piece_bytes
        n = min(piece_bytes, nbytes - low)
        put_signal(here, theirs, send + low, n, signals + from_me * 8, epoch, pe)
        wait(here, signals + from_peer * 8, epoch, pe)
        copy(recv + low, mine, n)
    write_epoch(epochs, from_peer, epoch)
