"""One sweep of a box of three dimensions: memory is read once, in pieces of 16 bytes, plane after plane.

A block has 512 threads: 32 lanes along z, or fewer if the box has fewer pieces, and rows along y.  A thread keeps its
piece of three planes in registers, reads the pieces of the rows above and below from the L1 cache, and gets the numbers
to the left and right from the neighbouring lanes.  A block goes through a few planes only: blocks run in the order of z,
y, x, so the two planes that a block shares with the next block in x are still in the L2 cache.
"""

from typing import NamedTuple

from ....compile.options import LaunchBounds
from ....compile.pass_kernel import PassKernel, Storage
from ....compile.unroll import Static, specialised, static
from ....cuda.compiler.gpu import cuda
from ....cuda.device.intrinsics import anew
from ....kernels.block import real
from ....kernels.sweep.formula import Stencil, read_numbers
from ....kernels.sweep.records import Box, Cut, Pass
from ..warp.norm import add_squares_of_warp, squares_of_warp
from ..warp.pieces import load_number_where, load_piece, store_numbers
from ..warp.shared import PIECE_BYTES
from ..warp.stepped import groups_of_halves, half_of_piece, numbers_of_piece, stepped_piece
from ..warp.warp import LANES, least, pick, shift_down, shift_up

THREADS = 512
SECTOR_BYTES = 32  # bytes of a sector of memory; the first lane's piece begins at a sector
PLANES = {"float32": 4, "float64": 6}  # number of planes of a block


def sector_start(old, z0, item_bytes):
    """The last z, up to z0, at which a sector begins.  old: address of the row's element z = 0"""
    return z0 - ((old + z0 * item_bytes) & (SECTOR_BYTES - 1)) // item_bytes


class Piece(NamedTuple):
    """The place of a thread.

    offset:      bytes from element (0, 0, 0) to its piece in the block's first plane
    planes:      number of planes of the block
    first, stop: index of the first number of the piece in the box, and the index after the last number in the box
    missing:     bytes from the piece to the neighbouring number that no lane has, before or after it; 0: lanes have both
    """

    offset: int
    planes: int
    first: int
    stop: int
    missing: int


def piece_of_thread(stencil: Static[Stencil], fields, box, chunk):
    """The piece of a thread, in few instructions, since a block computes few planes."""
    item_bytes, width = stencil.item_bytes, numbers_of_piece(stencil)
    start = sector_start(fields.old, box.z0, item_bytes)
    x, y = box.x0 + cuda.blockIdx.z * chunk, box.y0 + cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    z = start + (cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x) * width
    # Threads outside the box read its last row, or the piece after its last piece, of which a lane needs a number.
    piece_after = box.z1 + ((start - box.z1) & (width - 1))
    offset = x * fields.plane + least(y, box.y1 - 1) * fields.row + least(z, piece_after)
    missing = pick(cuda.threadIdx.x == cuda.blockDim.x - 1, PIECE_BYTES, pick(cuda.threadIdx.x == 0, -item_bytes, 0))
    stop = pick(y < box.y1, box.z1 - z, 0)
    return Piece(offset * item_bytes, least(chunk, box.x1 - x), box.z0 - z, stop, missing)


def shifted(values, value):
    """``value``, then the values without the last value."""
    return (value, *values[:-1])


def sweep_once(stencil: Static[Stencil], norms: Static[str], ctx, sweeps: Pass):
    """The kernel.  u: this thread's piece of the plane that is computed; before, after: its neighbours in x"""
    fields = sweeps.fields
    zero, numbers, summed = real(0.0), read_numbers(stencil, sweeps.values), norms != "none"
    planes, far_ahead = PLANES[stencil.dtype], stencil.dtype == "float64"  # far_ahead: loads are two planes ahead
    if summed:
        halves = tuple(zero for _ in static(planes))
    plane, row = fields.plane * stencil.item_bytes, fields.row * stencil.item_bytes
    to_new, to_coefficient = fields.new - fields.old, fields.coefficient - fields.old
    own = piece_of_thread(stencil, fields, sweeps.box, sweeps.cut.chunk)
    old, left_over = fields.old + own.offset, own.planes
    before, u, after = load_piece(old - plane, zero), load_piece(old, zero), load_piece(old + plane, zero)
    while left_over > 0:
        old = anew(old)
        later = after
        if far_ahead and left_over > 1:
            later = load_piece(old + 2 * plane, zero)
        above, below = load_piece(old - row, zero), load_piece(old + row, zero)
        line = line_of_piece(stencil, old, u, own.missing, zero)
        coefficient = load_piece(old + to_coefficient, zero) if stencil.has_coefficient else u
        new = stepped_piece(stencil, (before, after), (above, below), line, numbers, coefficient)
        store_numbers(own.first, own.stop, old + to_new, new)
        if summed:
            halves = shifted(halves, half_of_piece(stencil, new, u, own.first, own.stop))
        old, left_over = old + plane, left_over - 1
        before, u, after = u, after, later
        if not far_ahead and left_over > 0:
            after = load_piece(old + plane, zero)
    if summed:
        add_squares_of_warp(sweeps.words, squares_of_warp((planes + 1) // 2, groups_of_halves(planes, halves)))


def line_of_piece(stencil: Static[Stencil], address, piece, missing, zero):
    """The numbers of a piece, with the number before it and the number after it.  missing: ``Piece.missing``"""
    loaded = load_number_where(missing != 0, address + missing, zero)
    left = pick(missing < 0, loaded, shift_up(piece[numbers_of_piece(stencil) - 1]))
    right = pick(missing > 0, loaded, shift_down(piece[0]))
    return (left, *piece, right)


def sweep_once_pass(stencil: Stencil, norms: str) -> PassKernel:
    """The pass."""

    def launch(box: Box, storage: Storage) -> tuple[tuple[int, int, int], tuple[int, int, int], Cut]:
        chunk, lanes = PLANES[stencil.dtype], LANES
        start = sector_start(storage.lead * stencil.item_bytes, box.z0, stencil.item_bytes)
        pieces = -(-(box.z1 - start) * stencil.item_bytes // PIECE_BYTES)
        while lanes > 2 and lanes // 2 >= pieces:
            lanes //= 2
        rows = THREADS // lanes
        blocks = -(-pieces // lanes), -(-(box.y1 - box.y0) // rows), -(-(box.x1 - box.x0) // chunk)
        return blocks, (lanes, rows, 1), Cut(chunk, storage.lead)

    bounds = LaunchBounds(THREADS, 3 if norms == "none" else 2)
    return PassKernel(specialised(sweep_once, stencil, norms), bounds, 0, 0, launch)
