"""One sweep of a box of three dimensions: memory is read once, in pieces of 16 bytes, plane after plane.

A block is 512 threads: 32 lanes along z, fewer where the box has fewer pieces, and rows along y.  A thread keeps its
piece of the planes before, here and after in registers, reads those of the rows above and below from the L1 cache, and
has the numbers to the left and right from the lanes beside it.  A block goes down a few planes only: blocks run in the
order of z, y, x, and so the two planes that a block shares with the next one in x are still in the L2 cache.
"""

from collections.abc import Callable
from typing import NamedTuple

from numba import cuda

from ...compile.options import LaunchBounds
from ...compile.pass_kernel import PassKernel, Storage
from ...kernels.block import Elements, Words, block, real
from ...kernels.sweep.formula import Stencil, numbers_of
from ...kernels.sweep.norm import no_squares
from ...kernels.sweep.records import Box, Cut, SweepFields
from ..intrinsics import divide_32
from .norm import add_squares_of_warp
from .pieces import PIECE_BYTES, load_number_where, load_piece, store_piece, store_some
from .stepped import squares_of_piece, stepped_piece
from .warp import pick, shift_down, shift_up

THREADS_LOG2, LANES_LOG2 = 9, 5
SECTOR_BYTES = 32  # of memory; the lanes' pieces begin on a multiple of these
PLANES = {"float32": 4, "float64": 6}  # of a block


def log2_up(n, most):
    """The least k with 2**k >= n, but at most ``most``."""
    k = 0
    while k < most and 1 << k < n:
        k += 1
    return k


def sector_start(old, z0, item_bytes):
    """The last z up to z0 at which a sector begins."""
    return z0 - ((old + z0 * item_bytes) & (SECTOR_BYTES - 1)) // item_bytes


def least(x, y):
    """The smaller one."""
    return min(x, y)


class Piece(NamedTuple):
    """Where a thread works: addresses of a piece, and planes x .. stop_x - 1.

    first, stop: its numbers in the box;  whole: all are;  ragged: of some piece of the box's rows not all are
    leftmost, rightmost: no lane has the piece before, after
    """

    old: int
    new: int
    coefficient: int
    x: int
    stop_x: int
    first: int
    stop: int
    whole: bool
    ragged: bool
    leftmost: bool
    rightmost: bool


def piece_of(stencil: Stencil) -> Callable[..., Piece]:
    """``find(fields, box, chunk)``: the piece of a thread."""
    item_bytes, width = stencil.item_bytes, PIECE_BYTES // stencil.item_bytes
    last = width - 1

    def find(fields, box, chunk):
        start = sector_start(fields.old, box.z0, item_bytes)
        pieces = (box.z1 - start + last) // width
        k = log2_up(pieces, LANES_LOG2)
        lanes, rows_log2 = 1 << k, THREADS_LOG2 - k
        blocks_z, blocks_y = (pieces + lanes - 1) >> k, (box.y1 - box.y0 + (1 << rows_log2) - 1) >> rows_log2
        beyond = divide_32(block(), blocks_z)
        block_x = divide_32(beyond, blocks_y)
        lane = cuda.threadIdx.x & (lanes - 1)
        piece = ((block() - beyond * blocks_z) << k) + lane
        x, y = box.x0 + block_x * chunk, box.y0 + ((beyond - block_x * blocks_y) << rows_log2) + (cuda.threadIdx.x >> k)
        z = start + piece * width
        # Threads beside the box read its last row, or the piece after its last one, of which a lane needs a number.
        place = (x * fields.plane + least(y, box.y1 - 1) * fields.row + start + least(piece, pieces) * width) * item_bytes
        first, stop = box.z0 - z, pick(y < box.y1, box.z1 - z, 0)
        return Piece(
            fields.old + place,
            fields.new + place,
            fields.coefficient + place,
            x,
            least(x + chunk, box.x1),
            first,
            stop,
            (first <= 0) & (stop >= width),
            (start < box.z0) | (start + pieces * width > box.z1),
            lane == 0,
            lane == lanes - 1,
        )

    return find


def sweep_once(stencil: Stencil, norms: str) -> Callable[..., None]:
    """The kernel."""
    item_bytes, read_numbers, stepped = stencil.item_bytes, numbers_of(stencil), stepped_piece(stencil)
    last, piece_of_thread = PIECE_BYTES // stencil.item_bytes - 1, piece_of(stencil)
    summed, add, has_coefficient = norms != "none", squares_of_piece(stencil), stencil.has_coefficient
    far_ahead = stencil.dtype == "float64"  # the plane after the next one is loaded

    def sweep(ctx, fields: SweepFields, box: Box, live: Box, cut: Cut, values: Elements, words: Words, scratch: int):
        zero, numbers, squares = real(0.0), read_numbers(values), no_squares()
        plane, row = fields.plane * item_bytes, fields.row * item_bytes
        one = piece_of_thread(fields, box, cut.chunk)
        x, at, to, coefficient_at = one.x, one.old, one.new, one.coefficient
        before, here, after = load_piece(at - plane, zero), load_piece(at, zero), load_piece(at + plane, zero)
        while x < one.stop_x:
            later = after
            if far_ahead and x + 1 < one.stop_x:
                later = load_piece(at + 2 * plane, zero)
            beside = load_piece(at - row, zero), load_piece(at + row, zero)
            left = load_number_where(one.leftmost, at - item_bytes, shift_up(here[last]))
            right = load_number_where(one.rightmost, at + PIECE_BYTES, shift_down(here[0]))
            coefficient = load_piece(coefficient_at, zero) if has_coefficient else here
            new = stepped(here, (before, after), beside, (left, *here, right), numbers, coefficient)
            store_piece(one.whole, to, new)
            if one.ragged:
                store_some(one.first, pick(one.whole, 0, one.stop), to, new)
            if summed:
                squares = add(squares, new, here, one.first, one.stop)
            x += 1
            at, to, coefficient_at = at + plane, to + plane, coefficient_at + plane
            before, here, after = here, after, later
            if not far_ahead and x < one.stop_x:
                after = load_piece(at + plane, zero)
        if summed:
            add_squares_of_warp(words, squares)

    return sweep


def sweep_once_pass(stencil: Stencil, norms: str) -> PassKernel:
    """The pass."""

    def launch(box: Box, storage: Storage) -> tuple[int, int, Cut]:
        chunk = PLANES[stencil.dtype]
        start = sector_start(storage.lead * stencil.item_bytes, box.z0, stencil.item_bytes)
        pieces = -(-(box.z1 - start) * stencil.item_bytes // PIECE_BYTES)
        k = log2_up(pieces, LANES_LOG2)
        blocks = -(-pieces >> k) * -(-(box.y1 - box.y0) >> (THREADS_LOG2 - k)) * -(-(box.x1 - box.x0) // chunk)
        return blocks, 1 << THREADS_LOG2, Cut(chunk, storage.lead)

    return PassKernel(sweep_once(stencil, norms), LaunchBounds(1 << THREADS_LOG2), 0, 0, launch)
