"""Every PE puts rows to all others, in pieces of many blocks: what AllGather and all-to-all share."""

from .block import POISON, block, blocks, copy, fence, put, read_epoch, signal_all, wait_all, write_epoch

BY_INBOX = 2  # so many pieces of a block go through the inbox
SIGNALS = 2  # words of a block for each PE


def put_rows(ctx, me, n_pes, src, src_stride, nbytes, low, piece_bytes, slot, inbox, homes, straight):
    """To every PE the piece at ``low`` of its row: to ``slot``, or straight to its out where that is known."""
    n = min(piece_bytes, nbytes - low)
    for k in range(1, n_pes):
        pe = (me + k) % n_pes
        to = slot
        if straight:
            home = read_epoch(homes, pe)
            if home != 0 and home < POISON:
                to = inbox + home + me * nbytes + low
        put(ctx, to, src + pe * src_stride + low, n, pe)


def exchange_rows(ctx, me, n_pes, out, src, src_stride, nbytes, piece_bytes, buffer_bytes, inbox, signals, epochs, reach):
    """out (n_pes, nbytes) = what every PE has for this one: row pe of its src is for PE pe.

    src (n_pes, nbytes) has rows src_stride bytes apart (0: one row for all).
    The first pieces go through the inbox.  They also tell the receiver that this PE's call has
    begun and where its out is, so that later ones go straight into it: nothing is copied twice.
    One piece is under way while the one before it is read; its signal comes after that, when the
    piece has long arrived.

    inbox   (blocks, 4 pieces in turn, buffer_bytes / 2), a piece holds (n_pes sources, slot) bytes
    signals (blocks, 2, n_pes) words: a source's piece is here; where a PE's out lies
    reach   1 if peers can and may write out: it is symmetric, and not src
    """
    turn_bytes = buffer_bytes // 2
    slot_bytes = turn_bytes // n_pes // 16 * 16
    own_inbox = inbox + block() * 2 * buffer_bytes
    arrived = signals + block() * SIGNALS * n_pes * 8  # (n_pes,) words
    homes = arrived + n_pes * 8  # (n_pes,) words: of a PE's out, the bytes from its inbox on; 0: not for peers
    low = block() * piece_bytes
    stride = blocks() * piece_bytes
    own_src = src + me * src_stride
    own_out = out + me * nbytes
    epoch = read_epoch(epochs, block())
    by_inbox = epoch + BY_INBOX
    if low < nbytes:
        if low + BY_INBOX * stride < nbytes:
            # A PE reads a word of the last call only before its last piece, without which no other PE is here.
            signal_all(ctx, homes, out - inbox if reach else 0, me, n_pes)
        slot = own_inbox + ((epoch + 1) & 3) * turn_bytes + me * slot_bytes
        put_rows(ctx, me, n_pes, src, src_stride, nbytes, low, piece_bytes, slot, inbox, homes, False)
        fence(ctx)
        signal_all(ctx, arrived, epoch + 1, me, n_pes)
    while low < nbytes:
        epoch += 1
        # Put the next piece, then finish this one.  A PE signals piece e+1 when it has read piece e, so
        # that a piece finds the one three before it read: four turns are enough.
        following = low + stride
        if following < nbytes:
            slot = own_inbox + ((epoch + 1) & 3) * turn_bytes + me * slot_bytes
            # Straight once this PE has waited for everybody's first piece: then the words are of this call.
            straight = epoch >= by_inbox
            put_rows(ctx, me, n_pes, src, src_stride, nbytes, following, piece_bytes, slot, inbox, homes, straight)
        n = min(piece_bytes, nbytes - low)
        if own_out != own_src:
            copy(own_out + low, own_src + low, n)
        wait_all(ctx, arrived, epoch, me, n_pes)
        if epoch <= by_inbox or not reach:
            slots = own_inbox + (epoch & 3) * turn_bytes
            for k in range(1, n_pes):
                pe = (me + k) % n_pes
                copy(out + pe * nbytes + low, slots + pe * slot_bytes, n)
        if following < nbytes:
            fence(ctx)
            signal_all(ctx, arrived, epoch + 1, me, n_pes)
        low = following
    write_epoch(epochs, block(), epoch)
