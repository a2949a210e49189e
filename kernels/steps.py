"""What kernels are written with beside the primitives: rounds, pieces, peers and epochs, named once.

A call is cut into **rounds**.  In each round a block handles one **piece** of every chunk that the algorithm has, and
counts one **epoch**.

Some kernels overlap rounds: the pieces of the next round are under way while those of this round are read.  Such a kernel
puts the pieces of its first round before the loop: a loop that begins one round early took 4 % longer for 16 MiB on two
H200s.  "Why a buffer may be used again" in README.md shows the order.
"""

from .block import block, blocks, fence, read_epoch, signal_all, write_epoch
from .records import PE, Piece, Reduction, Transfer, Work

# Sizes and starts are elements, or bytes; ``round_size`` is what one block takes of an array in one round.


def rounds(size: int, round_size: int):
    """Where each round of this block starts."""
    return range(block() * round_size, size, blocks() * round_size)


def first_round(work: Work, round_size: int) -> tuple[int, int, int]:
    """(``load_epoch``, start of this block's first round, from the start of a round to that of the next)."""
    return load_epoch(work), block() * round_size, blocks() * round_size


def first_count(work: Work, round_size: int) -> tuple[int, int, int]:
    """``first_round`` without the tag of the epoch, for kernels whose latency matters: they add it with ``tag_epoch``.

    The GPU waits for the count where it is first used: after the branches and addresses of a round.
    """
    return read_epoch(work.epochs, block()), block() * round_size, blocks() * round_size


def piece(call: Reduction, start: int, k: int = 0) -> Piece:
    """Piece k of a round that starts at element ``start``; it ends where the array ends, and may be empty."""
    begin = start + k * call.piece_elems
    return piece_from(call, begin, max(0, min(call.piece_elems, call.n_elems - begin)))


def piece_inside(call: Reduction, start: int) -> Piece:
    """The piece that begins at element ``start``, which the array has: it is not empty."""
    return piece_from(call, start, min(call.piece_elems, call.n_elems - start))


def piece_from(call: Reduction, start: int, n_elems: int) -> Piece:
    """n_elems elements of a call from element ``start`` on."""
    offset = start * call.item_bytes
    residual = call.residual + offset if call.residual else 0
    return Piece(call.out + offset, call.src + offset, residual, n_elems, n_elems * call.item_bytes)


def piece_nbytes(call: Transfer, start: int) -> int:
    """Bytes of the piece that begins at byte ``start``; it ends where the array ends, and may be empty."""
    return max(0, min(call.piece_bytes, call.nbytes - start))


def neighbours(pe: PE) -> tuple[int, int]:
    """(next, previous) PE on the ring 0, 1, ..., n_pes - 1, 0."""
    return peer(pe, 1), peer(pe, pe.n_pes - 1)


def peer(pe: PE, k: int) -> int:
    """The k-th PE after this one, so that in a loop over all others no two PEs send to the same PE."""
    return after(pe.me, k, pe.n_pes)


def after(rank: int, k: int, n: int) -> int:
    """(rank + k) % n for 0 <= rank, k < n, without a division."""
    return rank + k - n if rank + k >= n else rank + k


def distance(pe: PE, root: int, to: int) -> int:
    """k such that ``to`` is the k-th PE after ``root``."""
    return (to - root + pe.n_pes) % pe.n_pes


def load_epoch(work: Work) -> int:
    """The last epoch that this block has finished, with the tag of this call."""
    return load_counter(work, work.epochs, block())


def store_epoch(work: Work, epoch: int) -> None:
    """Record the last epoch of a call for the next one."""
    store_counter(work, work.epochs, block(), epoch)


def tag_epoch(work: Work, count: int) -> int:
    """The epoch of a round: its count, with the tag of this call."""
    return count + work.tag


def store_count(work: Work, count: int) -> None:
    """``store_epoch`` of a count."""
    write_epoch(work.epochs, block(), count)


def load_counter(work: Work, counts: int, k: int) -> int:
    """What word k of ``counts`` has counted, with the tag of this call."""
    return read_epoch(counts, k) + work.tag


def store_counter(work: Work, counts: int, k: int, epoch: int) -> None:
    """Record in word k what was counted."""
    write_epoch(counts, k, untag_epoch(work, epoch))


def untag_epoch(work: Work, epoch: int) -> int:
    """An epoch without the tag, for the signal that it has been read: the epoch may be of an earlier call."""
    return epoch - work.tag


def fence_signal_all(pe: PE, words: int, epoch: int) -> None:
    """Fence, then set word ``me`` of ``words`` (n_pes,) on every other PE: what this block has put to it has arrived."""
    fence(pe.ctx)
    signal_all(pe.ctx, words, epoch, pe.me, pe.n_pes)
