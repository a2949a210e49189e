"""What kernels are written with beside the primitives: rounds, pieces, buffers, slots and words, named once.

A call is cut into **rounds**.  In each round a block handles one **piece** of every chunk that the algorithm has, and
counts one **epoch**.  A block's inbox and outbox are two **buffers**, used by the parity of the epoch, and its signal
words are doubled in the same way; each kernel says why two are enough.

Some kernels overlap rounds: the pieces of the next round are under way while those of this one are read.  Their loop
begins one round early, with nothing to read yet:

    epoch, start, stride = last_epoch(work) - 1, before_first(per_round), stride_of(per_round)
    while start < n:
        epoch, following = epoch + 1, start + stride
        if following < n:
            put the pieces of the following round, into the quarter of epoch + 1
        if start >= 0:
            wait for the pieces of this round, and finish them
        if following < n:
            fence_signal_all(pe, words, epoch + 1)  # by now the pieces have long arrived
        start = following

The inbox of such a block is four **quarters**, used in turn.  A PE signals round e+1 when it has read round e, and puts
round e+1 when it has the signals of round e-1 of all PEs.  So what it puts finds the round three before it read
everywhere: four quarters are enough.
"""

from typing import NamedTuple

from .block import block, blocks, fence, read_epoch, signal_all, write_epoch
from .records import PE, Reduction, Work

WORD_BYTES, VECTOR_BYTES = 8, 16


class Piece(NamedTuple):
    """n_elems elements that begin ``offset_bytes`` behind the start of an array."""

    offset_bytes: int
    n_elems: int


class Slots(NamedTuple):
    """Slots of ``nbytes`` each, one behind the other from ``address`` on."""

    address: int
    nbytes: int


# Of what follows n and per_round are both elements, or both bytes: of an array, and of all chunks in one block's round.


def rounds(n: int, per_round: int):
    """Where each round of this block starts."""
    return range(block() * per_round, n, blocks() * per_round)


def first_start(per_round: int) -> int:
    """Where the first round of this block starts."""
    return block() * per_round


def before_first(per_round: int) -> int:
    """Where rounds that overlap start: one stride before the first round, and below 0."""
    return (block() - blocks()) * per_round


def stride_of(per_round: int) -> int:
    """From one round of this block to its next."""
    return blocks() * per_round


def piece(call: Reduction, start: int) -> Piece:
    """The piece that begins at element ``start``; it ends where the array ends, and may be empty."""
    return Piece(start * call.item_bytes, max(0, min(call.piece_elems, call.n_elems - start)))


def piece_inside(call: Reduction, start: int) -> Piece:
    """The piece that begins at element ``start``, which the array has: it is not empty."""
    return Piece(start * call.item_bytes, min(call.piece_elems, call.n_elems - start))


def neighbours(pe: PE) -> tuple[int, int]:
    """(next, previous) PE on the ring 0, 1, ..., n_pes - 1, 0."""
    return (pe.me + 1) % pe.n_pes, (pe.me + pe.n_pes - 1) % pe.n_pes


def peer(pe: PE, k: int) -> int:
    """The k-th PE after this one, so that in a loop over all others no two PEs turn to the same one."""
    return (pe.me + k) % pe.n_pes


def last_epoch(work: Work) -> int:
    """The last epoch that this block has finished."""
    return read_epoch(work.epochs, block())


def finish_epoch(work: Work, epoch: int) -> None:
    """Record the last epoch of a call for the next one."""
    write_epoch(work.epochs, block(), epoch)


def buffers(work: Work) -> int:
    """Offset in bytes, in inbox and outbox, of this block's two buffers."""
    return block() * 2 * work.buffer_bytes


def buffer(work: Work, epoch: int) -> int:
    """Offset in bytes, in inbox and outbox, of this block's buffer of an epoch."""
    return (block() * 2 + (epoch & 1)) * work.buffer_bytes


def quarter(work: Work, epoch: int) -> int:
    """Offset in bytes, in the inbox, of this block's quarter of an epoch: half of a buffer."""
    return buffers(work) + (epoch & 3) * quarter_bytes(work)


def quarter_bytes(work: Work) -> int:
    """Bytes of a quarter."""
    return work.buffer_bytes // 2


def slots_in(address: int, nbytes: int, n_slots: int) -> Slots:
    """The ``nbytes`` at an address, cut into slots of whole vectors."""
    return Slots(address, nbytes // n_slots // VECTOR_BYTES * VECTOR_BYTES)


def slot(slots: Slots, k: int) -> int:
    """Address of slot k."""
    return slots.address + k * slots.nbytes


def word(words: int, k: int) -> int:
    """Address of word k."""
    return words + k * WORD_BYTES


def words(work: Work, epoch: int, n_words: int) -> int:
    """Address of this block's (n_words,) signal words of an epoch, where it has two sets of them."""
    return work.signals + (block() * 2 + (epoch & 1)) * n_words * WORD_BYTES


def lasting_words(work: Work, n_words: int) -> int:
    """Address of this block's (n_words,) signal words, where it has one set of them."""
    return work.signals + block() * n_words * WORD_BYTES


def fence_signal_all(pe: PE, words: int, epoch: int) -> None:
    """Tell every other PE, in word ``me`` of its words (n_pes,), that what this block has put to it is there."""
    fence(pe.ctx)
    signal_all(pe.ctx, words, epoch, pe.me, pe.n_pes)
