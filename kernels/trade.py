"""Every PE puts rows to all others, in pieces of many blocks: what AllGather and all-to-all share."""

from .block import block, blocks, copy, put, read_epoch, signal_all, wait_all, write_epoch

BY_INBOX = 2  # so many pieces of a block go through the inbox
SIGNALS = 2  # words of a block for each PE


def trade(here, me, n_pes, out, src, src_stride, nbytes, piece_bytes, half_bytes, inbox, signals, epochs, reach):
    """out (n_pes, nbytes) = what every PE has for this one: row pe of its src is for PE pe.

    src (n_pes, nbytes) has rows src_stride bytes apart (0: one row for all).

    The first pieces go through the inbox.  They also tell the receiver that this PE's call has
    begun and where its out is, so that later ones go straight into it: nothing is copied twice.

    inbox   (blocks, 4 pieces in turn, half_bytes / 2), a piece holds (n_pes sources, slot) bytes
    signals (blocks, 2, n_pes) words: a source's piece is here; where a PE's out lies
    reach   1 if peers can and may write out: it is symmetric, and not src
    """
    turn_bytes = half_bytes // 2
    slot_bytes = turn_bytes // n_pes // 16 * 16
    own_inbox = inbox + block() * 2 * half_bytes
    arrived = signals + block() * SIGNALS * n_pes * 8  # (n_pes,) words
    homes = arrived + n_pes * 8  # (n_pes,) words: of a PE's out, the bytes from its inbox on; 0: not for peers
    low = block() * piece_bytes
    stride = blocks() * piece_bytes
    sent = epoch = read_epoch(epochs, block())
    by_inbox = epoch + BY_INBOX
    if low + BY_INBOX * stride < nbytes:
        # A PE reads a word of the last call only before it has put its last piece, without which no other PE is here.
        signal_all(here, homes, out - inbox if reach else 0, me, n_pes)
    while low < nbytes + stride:
        # Put this piece, then finish the one before.  A PE that has finished piece e has seen all PEs
        # put piece e, which they did after reading piece e-2: with one more on its way, four turns are enough.
        if low < nbytes:
            sent += 1
            n = min(piece_bytes, nbytes - low)
            slot = own_inbox + (sent & 3) * turn_bytes + me * slot_bytes
            for k in range(1, n_pes):
                pe = (me + k) % n_pes
                to = slot
                if sent > by_inbox:  # this PE has waited for PE pe's first piece, so the word is of this call
                    home = read_epoch(homes, pe)
                    if home != 0:
                        to = inbox + home + me * nbytes + low
                put(here, to, src + pe * src_stride + low, n, pe)
            signal_all(here, arrived, sent, me, n_pes)
            own = src + me * src_stride
            if out + me * nbytes != own:
                copy(out + me * nbytes + low, own + low, n)
        before = low - stride
        if 0 <= before and before < nbytes:
            epoch += 1
            n = min(piece_bytes, nbytes - before)
            wait_all(here, arrived, epoch, me, n_pes)
            if epoch <= by_inbox or not reach:
                slots = own_inbox + (epoch & 3) * turn_bytes
                for k in range(1, n_pes):
                    pe = (me + k) % n_pes
                    copy(out + pe * nbytes + before, slots + pe * slot_bytes, n)
        low += stride
    write_epoch(epochs, block(), epoch)
