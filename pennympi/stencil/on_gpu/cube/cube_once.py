"""One sweep of a box of three dimensions: memory is read once, in pieces of 16 bytes, plane after plane.

A block is 512 threads: 32 lanes along z, fewer where the box has fewer pieces, and rows along y.  A thread keeps its
piece of the planes before, here and after in registers, reads those of the rows above and below from the L1 cache, and
has the numbers to the left and right from the lanes beside it.  A block goes down a few planes only: blocks run in the
order of z, y, x, and so the two planes that a block shares with the next one in x are still in the L2 cache.
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
SECTOR_BYTES = 32  # of memory; the lanes' pieces begin on a multiple of these
PLANES = {"float32": 4, "float64": 6}  # of a block


def sector_start(old, z0, item_bytes):
    """The last z up to z0 at which a sector begins."""
    return z0 - ((old + z0 * item_bytes) & (SECTOR_BYTES - 1)) // item_bytes


class Piece(NamedTuple):
    """Where a thread works.

    at:          bytes from element (0, 0, 0) to its piece in the block's first plane;  planes: of the block
    first, stop: the numbers of its piece in the box
    beside:      bytes from the piece to the number beside it that no lane has, before or after it; 0: lanes have both
    """

    at: int
    planes: int
    first: int
    stop: int
    beside: int


def piece_of_thread(stencil: Static[Stencil], fields, box, chunk):
    """The piece of a thread, in few instructions, since a block has little to do."""
    item_bytes, width = stencil.item_bytes, numbers_of_piece(stencil)
    start = sector_start(fields.old, box.z0, item_bytes)
    x, y = box.x0 + cuda.blockIdx.z * chunk, box.y0 + cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    z = start + (cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x) * width
    # Threads beside the box read its last row, or the piece after its last one, of which a lane needs a number.
    beyond = box.z1 + ((start - box.z1) & (width - 1))
    at = x * fields.plane + least(y, box.y1 - 1) * fields.row + least(z, beyond)
    beside = pick(cuda.threadIdx.x == cuda.blockDim.x - 1, PIECE_BYTES, pick(cuda.threadIdx.x == 0, -item_bytes, 0))
    stop = pick(y < box.y1, box.z1 - z, 0)
    return Piece(at * item_bytes, least(chunk, box.x1 - x), box.z0 - z, stop, beside)


def shifted(values, value):
    """The values with another one before them, and without the last one."""
    return (value, *values[:-1])


def sweep_once(stencil: Static[Stencil], norms: Static[str], ctx, sweeps: Pass):
    """The kernel."""
    fields = sweeps.fields
    zero, numbers, summed = real(0.0), read_numbers(stencil, sweeps.values), norms != "none"
    planes, far_ahead = PLANES[stencil.dtype], stencil.dtype == "float64"  # the plane after the next one is loaded
    if summed:
        halves = tuple(zero for _ in static(planes))
    plane, row = fields.plane * stencil.item_bytes, fields.row * stencil.item_bytes
    to_new, to_coefficient = fields.new - fields.old, fields.coefficient - fields.old
    own = piece_of_thread(stencil, fields, sweeps.box, sweeps.cut.chunk)
    at, left_over = fields.old + own.at, own.planes
    before, here, after = load_piece(at - plane, zero), load_piece(at, zero), load_piece(at + plane, zero)
    while left_over > 0:
        at = anew(at)
        later = after
        if far_ahead and left_over > 1:
            later = load_piece(at + 2 * plane, zero)
        above, below = load_piece(at - row, zero), load_piece(at + row, zero)
        line = line_of_piece(stencil, at, here, own.beside, zero)
        coefficient = load_piece(at + to_coefficient, zero) if stencil.has_coefficient else here
        new = stepped_piece(stencil, (before, after), (above, below), line, numbers, coefficient)
        store_numbers(own.first, own.stop, at + to_new, new)
        if summed:
            halves = shifted(halves, half_of_piece(stencil, new, here, own.first, own.stop))
        at, left_over = at + plane, left_over - 1
        before, here, after = here, after, later
        if not far_ahead and left_over > 0:
            after = load_piece(at + plane, zero)
    if summed:
        add_squares_of_warp(sweeps.words, squares_of_warp((planes + 1) // 2, groups_of_halves(planes, halves)))


def line_of_piece(stencil: Static[Stencil], at, here, beside, zero):
    """A piece, with the numbers before and after it, of which no lane has one at the ends of a warp."""
    loaded = load_number_where(beside != 0, at + beside, zero)
    left = pick(beside < 0, loaded, shift_up(here[numbers_of_piece(stencil) - 1]))
    right = pick(beside > 0, loaded, shift_down(here[0]))
    return (left, *here, right)


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
