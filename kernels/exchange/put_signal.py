"""Exchange, fused form: each message is one put_signal; one thread waits.

Source: the Penny worklog, part 1.  The put orders its own signal, and the two
PEs never meet at a barrier.
"""

from ..block import block, blocks, copy, fence, put_signal, read_epoch, staged, wait, write_epoch


def exchange_put_signal(ctx, me, pe, recv, send, nbytes, max_blocks, piece_bytes, inbox, outbox, signals, epochs):
    """recv (nbytes,) = send (nbytes,) of ``pe``, and the other way round; recv may be send.

    inbox   (n_pes sources, max_blocks, 2 parities, piece_bytes) bytes
    outbox  (max_blocks, piece_bytes) bytes, which a piece may start from
    signals (n_pes sources, max_blocks, 2 parities) words;  epochs (n_pes, max_blocks), this PE's own
    """
    from_me, from_peer = me * max_blocks + block(), pe * max_blocks + block()
    epoch = read_epoch(epochs, from_peer)
    for low in range(block() * piece_bytes, nbytes, blocks() * piece_bytes):
        epoch += 1
        # The peer's message of epoch e+1 proves that it has read epoch e: two parities are enough, of slots and words.
        theirs, mine = from_me * 2 + (epoch & 1), from_peer * 2 + (epoch & 1)
        n = min(piece_bytes, nbytes - low)
        piece = staged(ctx, outbox + block() * piece_bytes, send + low, n, pe)
        put_signal(ctx, inbox + theirs * piece_bytes, piece, n, signals + theirs * 8, epoch, pe)
        wait(ctx, signals + mine * 8, epoch, pe)
        fence(ctx)  # the peer's piece may be here before this PE's has left send, which may be recv, or the outbox
        copy(recv + low, inbox + mine * piece_bytes, n)
    write_epoch(epochs, from_peer, epoch)
