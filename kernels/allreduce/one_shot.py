"""One-shot AllReduce: everybody puts everything to everybody, each piece with a signal.

Source: the Penny worklog, part 2 ("all in one go"), and vLLM's one-stage kernel
(pull request 2192), pushed instead of pulled.  One piece is under way while the
one before it is added up.
"""

from ..algorithm import Algorithm, Limits, Place, Plan, anywhere, piece_plan
from ..block import block, blocks, combine, put_signal, read_epoch, wait, write_epoch


def one_shot(
    here, me, n_pes, item_bytes, acc_bytes, out, src, count, piece_elems, half_bytes, inbox, outbox, signals, epochs, ways
):
    """out (count,) = op over all PEs of src (count,); out may be src.

    inbox   (blocks, 4 pieces in turn, half_bytes / 2), a piece holds (n_pes sources, slot) elements
    signals (blocks, n_pes sources) words;  outbox is scratch
    """
    turn_bytes = half_bytes // 2
    slot_bytes = turn_bytes // n_pes // 16 * 16
    own_inbox = inbox + block() * 2 * half_bytes
    arrived = signals + block() * n_pes * 8  # (n_pes,) words
    low = block() * piece_elems
    stride = blocks() * piece_elems
    sent = epoch = read_epoch(epochs, block())
    while low < count + stride:
        # Put this piece, then finish the one before.  A PE that has finished piece e has seen all PEs
        # put piece e, which they did after reading piece e-2: with one more on its way, four turns are enough.
        if low < count:
            sent += 1
            n = min(piece_elems, count - low)
            slot = own_inbox + (sent & 3) * turn_bytes + me * slot_bytes
            for k in range(1, n_pes):
                pe = (me + k) % n_pes
                put_signal(here, slot, src + low * item_bytes, n * item_bytes, arrived + me * 8, sent, pe)
        before = low - stride
        if 0 <= before and before < count:
            epoch += 1
            n = min(piece_elems, count - before)
            for k in range(1, n_pes):
                pe = (me + k) % n_pes
                wait(here, arrived + pe * 8, epoch, pe)
            slots = own_inbox + (epoch & 3) * turn_bytes
            at = before * item_bytes
            combine(here, out + at, slots, slot_bytes, src + at, n, outbox + block() * 2 * half_bytes, me, n_pes)
        low += stride
    write_epoch(epochs, block(), epoch)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """See ``piece_plan``."""
    return piece_plan(count, item_bytes, 1, limits.half_bytes // 2 // place.n_pes // acc_bytes, limits)


ALGORITHM = Algorithm(
    name="one_shot",
    sentence="everything to everybody, piece by piece with a signal each; one hop",
    needs="none",
    kernel=one_shot,
    plan=plan,
    signals=lambda place: place.n_pes,
    outbox=False,
    refuse=anywhere,
)
