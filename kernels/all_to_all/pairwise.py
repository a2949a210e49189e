"""Pairwise all-to-all: every PE puts each other PE its part, one PE after the other.

Source: the pairwise exchange of MPI libraries.  In step k a PE sends to the k-th PE
behind it, so that no two send to the same one.  n-1 messages a PE.
"""

from ..algorithm import ELEMENTS, Algorithm, Limits, Place, Plan, anywhere, cut
from ..block import block, blocks, copy, put_signal, wait
from ..records import PE, Transfer, Work
from ..steps import VECTOR_BYTES, WORD_BYTES, buffer, finish_epoch, last_epoch, piece_nbytes, slot, words


def pairwise(pe: PE, call: Transfer, work: Work):
    """out (n_pes, nbytes) = part ``me`` of src (n_pes, nbytes) of every PE; out may be src.

    inbox   (blocks, 2 buffers), a buffer holds (n_pes sources) slots
    outbox  (blocks, 2 buffers), a buffer holds (n_pes destinations) slots
    signals (blocks, 2, n_pes sources) words
    """
    slot_bytes = slot(work.buffer_bytes, pe.n_pes, VECTOR_BYTES)
    own = pe.me * call.nbytes
    epoch = last_epoch(work)
    start = block() * call.piece_bytes
    while start < call.nbytes:
        epoch += 1
        # A PE's piece of epoch e+1 proves that it has read all of epoch e: two buffers are enough, and two sets of words.
        inbox, outbox = work.inbox + buffer(work, epoch), work.outbox + buffer(work, epoch)
        arrived = words(work, epoch, pe.n_pes)
        own_slot, own_word = inbox + pe.me * slot_bytes, arrived + pe.me * WORD_BYTES
        nbytes = piece_nbytes(call, start)
        for k in range(1, pe.n_pes):
            peer = (pe.me + k) % pe.n_pes
            part = outbox + peer * slot_bytes
            copy(part, call.src + peer * call.nbytes + start, nbytes)
            put_signal(pe.ctx, own_slot, part, nbytes, own_word, epoch, peer)
        if call.out != call.src:
            copy(call.out + own + start, call.src + own + start, nbytes)
        for k in range(1, pe.n_pes):
            peer = (pe.me + pe.n_pes - k) % pe.n_pes
            wait(pe.ctx, arrived + peer * WORD_BYTES, epoch, peer)
            copy(call.out + peer * call.nbytes + start, inbox + peer * slot_bytes, nbytes)
        start += blocks() * call.piece_bytes
    finish_epoch(work, epoch)


def plan(count: int, item_bytes: int, acc_bytes: int, place: Place, limits: Limits) -> Plan:
    """Blocks of at least 4 KiB of each part, pieces as large as a slot allows."""
    n_blocks = min(limits.max_blocks, max(1, count * item_bytes // 4096))
    return Plan(n_blocks, cut(count, n_blocks, limits.buffer_bytes // place.n_pes // 16 * 16 // item_bytes))


ALGORITHM = Algorithm(
    name="pairwise",
    sentence="every PE puts each other PE its part, one after the other",
    needs="none",
    kernel=pairwise,
    plan=plan,
    signals=lambda place: 2 * place.n_pes,
    slots=lambda place, limits: place.n_pes,
    holds=ELEMENTS,
    refuse=anywhere,
)
