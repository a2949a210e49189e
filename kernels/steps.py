"""What kernels are written with beside the primitives: rounds, pieces, buffers and words, named once.

A call is cut into **rounds**.  In each round a block handles one **piece** of every chunk that the algorithm has, and
counts one **epoch**.  A block's inbox and outbox are two **buffers**, used by the parity of the epoch, and its signal
words are doubled in the same way; each kernel says why two are enough.
"""

from typing import NamedTuple

from .block import block, blocks, read_epoch, write_epoch
from .records import PE, Reduction, Work

WORD_BYTES = 8


class Piece(NamedTuple):
    """n_elems elements that begin ``offset_bytes`` behind the start of an array."""

    offset_bytes: int
    n_elems: int


def rounds(n_elems: int, round_elems: int):
    """The first element of each round of this block; a round of all blocks takes blocks() * round_elems elements."""
    return range(block() * round_elems, n_elems, blocks() * round_elems)


def piece(call: Reduction, start: int) -> Piece:
    """The piece that begins at element ``start``; it ends where the array ends, and may be empty."""
    return Piece(start * call.item_bytes, max(0, min(call.piece_elems, call.n_elems - start)))


def neighbours(pe: PE) -> tuple[int, int]:
    """(next, previous) PE on the ring 0, 1, ..., n_pes - 1, 0."""
    return (pe.me + 1) % pe.n_pes, (pe.me + pe.n_pes - 1) % pe.n_pes


def last_epoch(work: Work) -> int:
    """The last epoch that this block has finished."""
    return read_epoch(work.epochs, block())


def finish_epoch(work: Work, epoch: int) -> None:
    """Record the last epoch of a call for the next one."""
    write_epoch(work.epochs, block(), epoch)


def buffer(work: Work, epoch: int) -> int:
    """Offset in bytes, in inbox and outbox, of this block's buffer of an epoch."""
    return (block() * 2 + (epoch & 1)) * work.buffer_bytes


def words(work: Work, epoch: int, n_words: int) -> int:
    """Address of this block's (n_words,) signal words of an epoch, where it has two sets of them."""
    return work.signals + (block() * 2 + (epoch & 1)) * n_words * WORD_BYTES
