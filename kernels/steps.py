"""Functions for the rounds, pieces, peers and epochs of kernels.

A call is divided into **rounds**.  In each round a block handles one **piece** of every chunk of the algorithm, and
counts one **epoch**.

Some kernels overlap rounds: the pieces of the next round are under way while the pieces of this round are read.  Such a
kernel puts the pieces of its first round before the loop.  A loop with an additional first turn for these puts took 4 %
longer for 16 MiB on two H200s.  "Why a buffer may be used again" in README.md shows the order.
"""

from .block import block, blocks, fence, read_epoch, signal_all, write_epoch
from .records import PE, Piece, Reduction, Transfer, Work

# Sizes and starts count elements, or bytes; ``round_size`` is the size of the part that a block handles in a round.


def rounds(size: int, round_size: int):
    """The starts of this block's rounds."""
    return range(block() * round_size, size, blocks() * round_size)


def first_round(work: Work, round_size: int) -> tuple[int, int, int]:
    """(``load_epoch``, start of this block's first round, distance between the starts of its rounds)."""
    return load_epoch(work), block() * round_size, blocks() * round_size


def first_count(work: Work, round_size: int) -> tuple[int, int, int]:
    """``first_round`` without the tag of the epoch, for kernels whose latency matters: they add it with ``tag_epoch``.

    The GPU then waits for the count only at its first use, after the branches and addresses of a round.
    """
    return read_epoch(work.epochs, block()), block() * round_size, blocks() * round_size


def piece(call: Reduction, start: int, k: int = 0) -> Piece:
    """Piece k of a round that starts at element ``start``; the end of the array may cut it short, or leave it empty."""
    begin = start + k * call.piece_elems
    return piece_from(call, begin, max(0, min(call.piece_elems, call.n_elems - begin)))


def piece_inside(call: Reduction, start: int) -> Piece:
    """The piece that begins at element ``start`` of the array, so it is not empty."""
    return piece_from(call, start, min(call.piece_elems, call.n_elems - start))


def piece_from(call: Reduction, start: int, n_elems: int) -> Piece:
    """The piece of n_elems elements of a call that begins at element ``start``."""
    offset = start * call.item_bytes
    residual = call.residual + offset if call.residual else 0
    return Piece(call.out + offset, call.src + offset, residual, n_elems, n_elems * call.item_bytes)


def piece_nbytes(call: Transfer, start: int) -> int:
    """Bytes of the piece that begins at byte ``start``; the end of the array may cut it short, or leave it empty."""
    return max(0, min(call.piece_bytes, call.nbytes - start))


def neighbours(pe: PE) -> tuple[int, int]:
    """(next, previous) PE on the ring 0, 1, ..., n_pes - 1, 0."""
    return peer(pe, 1), peer(pe, pe.n_pes - 1)


def peer(pe: PE, k: int) -> int:
    """The k-th PE after this PE: in a loop over k no two PEs send to the same PE at the same time."""
    return rank_after(pe.me, k, pe.n_pes)


def rank_after(rank: int, k: int, n: int) -> int:
    """(rank + k) % n for 0 <= rank, k < n, without a division."""
    return rank + k - n if rank + k >= n else rank + k


def distance(pe: PE, root: int, to: int) -> int:
    """k such that ``to`` is the k-th PE after ``root``."""
    return (to - root + pe.n_pes) % pe.n_pes


def load_epoch(work: Work) -> int:
    """The last epoch that this block has finished, with the tag of this call."""
    return load_counter(work, work.epochs, block())


def store_epoch(work: Work, epoch: int) -> None:
    """Store the last epoch of a call for the next call."""
    store_counter(work, work.epochs, block(), epoch)


def tag_epoch(work: Work, count: int) -> int:
    """The epoch of a round: its count, with the tag of this call."""
    return count + work.tag


def store_count(work: Work, count: int) -> None:
    """``store_epoch`` of a count."""
    write_epoch(work.epochs, block(), count)


def load_counter(work: Work, counts: int, k: int) -> int:
    """The count in word k of ``counts``, with the tag of this call."""
    return read_epoch(counts, k) + work.tag


def store_counter(work: Work, counts: int, k: int, epoch: int) -> None:
    """Store a count, which has a tag, in word k of ``counts``."""
    write_epoch(counts, k, untag_epoch(work, epoch))


def untag_epoch(work: Work, epoch: int) -> int:
    """An epoch without the tag, for the signal that it has been read: it may belong to an earlier call."""
    return epoch - work.tag


def fence_signal_all(pe: PE, words: int, epoch: int) -> None:
    """Fence, then set word ``me`` of ``words`` (n_pes,) on every other PE: this block's puts have arrived."""
    fence(pe.ctx)
    signal_all(pe.ctx, words, epoch, pe.me, pe.n_pes)
