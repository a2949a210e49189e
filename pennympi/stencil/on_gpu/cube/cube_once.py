"""One sweep of a box of three dimensions: memory is read once, in pieces of 16 bytes, plane after plane.

A block has 512 threads: 32 lanes along z, or fewer if the box has fewer pieces, and rows along y.  A thread keeps its
piece of three planes in registers, reads the pieces of the rows above and below from the L1 cache, and gets the numbers
to the left and right from the neighbouring lanes.  A block goes through a few planes only: blocks run in the order of z,
y, x, so the two planes that a block shares with the next block in x are still in the L2 cache.
"""

import math
from typing import NamedTuple

from ....compile.options import LaunchBounds
from ....compile.pass_kernel import PassKernel, PassLaunch, Storage
from ....compile.unroll import Static, specialised, static
from ....cuda.compiler.gpu import cuda
from ....cuda.device.intrinsics import anew, divide_32
from ....kernels.block import block, real
from ....kernels.sweep.formula import Stencil, read_numbers
from ....kernels.sweep.records import Box, Cut, Pass
from ..chunks import chunk_at, cut_into_chunks, pass_launch
from ..warp.norm import add_squares_of_warp, squares_of_warp
from ..warp.pieces import load_number_where, load_piece, store_numbers
from ..warp.shared import PIECE_BYTES
from ..warp.stepped import groups_of_halves, half_of_piece, numbers_of_piece, stepped_piece
from ..warp.warp import LANES, least, pick, shift_down, shift_up

THREADS = 512
ROWS = THREADS // LANES  # rows of a block that exchanges halos
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
    missing:     bytes from the piece to the number before or after it if no lane has that number, else 0
    """

    offset: int
    planes: int
    first: int
    stop: int
    missing: int


class Spot(NamedTuple):
    """A thread of the launch.

    lane, row:        its numbers in the block;  lanes, rows: of a block
    tile_z, tile_y:   numbers of its block;  own_x: the block's first plane;  planes: of the block
    """

    lane: int
    row: int
    lanes: int
    rows: int
    tile_z: int
    tile_y: int
    own_x: int
    planes: int


def spot_of_thread(exchanges: Static[bool], box, cut, pieces):
    """The spot of a thread, in few instructions, since a block computes few planes.  pieces: number of those of a row"""
    if not exchanges:
        own_x, tile_z, tile_y = box.x0 + cuda.blockIdx.z * cut.chunk, cuda.blockIdx.x, cuda.blockIdx.y
        x, y, planes = cuda.threadIdx.x, cuda.threadIdx.y, least(cut.chunk, box.x1 - own_x)
        return Spot(x, y, cuda.blockDim.x, cuda.blockDim.y, tile_z, tile_y, own_x, planes)
    tiles_z, tiles_y = (pieces + LANES - 1) // LANES, (box.y1 - box.y0 + ROWS - 1) // ROWS
    plane_of_tiles = divide_32(block(), tiles_z)
    number = divide_32(plane_of_tiles, tiles_y)
    own_x, planes = chunk_at(cut, box.x0, box.x1, number)
    lane, row = cuda.threadIdx.x & (LANES - 1), cuda.threadIdx.x // LANES
    return Spot(
        lane, row, LANES, ROWS, block() - plane_of_tiles * tiles_z, plane_of_tiles - number * tiles_y, own_x, planes
    )


def piece_of_thread(stencil: Static[Stencil], exchanges: Static[bool], fields, box, cut):
    """The piece of a thread."""
    item_bytes, width = stencil.item_bytes, numbers_of_piece(stencil)
    start = sector_start(fields.old, box.z0, item_bytes)
    spot = spot_of_thread(exchanges, box, cut, (box.z1 - start + width - 1) // width)
    y, z = box.y0 + spot.tile_y * spot.rows + spot.row, start + (spot.tile_z * spot.lanes + spot.lane) * width
    # Threads outside the box in y read its last row, and in z the piece after its last piece, whose first number the
    # last lane needs.
    piece_after = box.z1 + ((start - box.z1) & (width - 1))
    offset = spot.own_x * fields.plane + least(y, box.y1 - 1) * fields.row + least(z, piece_after)
    missing = pick(spot.lane == spot.lanes - 1, PIECE_BYTES, pick(spot.lane == 0, -item_bytes, 0))
    stop = pick(y < box.y1, box.z1 - z, 0)
    return Piece(offset * item_bytes, spot.planes, box.z0 - z, stop, missing)


def shifted(values, value):
    """``value``, then the values without the last value."""
    return (value, *values[:-1])


def sweep_once(stencil: Static[Stencil], norms: Static[str], exchanges: Static[bool], ctx, sweeps: Pass):
    """The kernel.  u: this thread's piece of the plane that is computed; before, after: its neighbours in x

    exchanges: the kernel is a part of one that exchanges halos, whose launch has one dimension
    """
    fields = sweeps.fields
    zero, numbers, summed = real(0.0), read_numbers(stencil, sweeps.values), norms != "none"
    planes, far_ahead = PLANES[stencil.dtype], stencil.dtype == "float64"  # far_ahead: loads are two planes ahead
    if summed:
        halves = tuple(zero for _ in static(planes))
    plane, row = fields.plane * stencil.item_bytes, fields.row * stencil.item_bytes
    to_new, to_coefficient = fields.new - fields.old, fields.coefficient - fields.old
    own = piece_of_thread(stencil, exchanges, fields, sweeps.box, sweeps.cut)
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


def sweep_once_pass(stencil: Stencil, norms: str, exchanges: bool) -> PassKernel:
    """The pass."""
    item_bytes, chunk = stencil.item_bytes, PLANES[stencil.dtype]

    def tiles(lanes: int, rows: int, box: Box, storage: Storage) -> tuple[int, int]:
        pieces = -(-(box.z1 - sector_start(storage.lead * item_bytes, box.z0, item_bytes)) * item_bytes // PIECE_BYTES)
        return -(-pieces // lanes), -(-(box.y1 - box.y0) // rows)

    def launch(box: Box, sides: Box, storage: Storage) -> PassLaunch:
        lanes = LANES
        while lanes > 2 and tiles(lanes // 2, 1, box, storage)[0] == 1:
            lanes //= 2
        blocks = *tiles(lanes, THREADS // lanes, box, storage), -(-(box.x1 - box.x0) // chunk)
        return PassLaunch(blocks, (lanes, THREADS // lanes, 1), Cut(chunk, storage.lead), 0)

    def launch_with_exchange(box: Box, sides: Box, storage: Storage) -> PassLaunch:
        of_chunk = math.prod(tiles(LANES, ROWS, box, storage))
        all_at_a_time = of_chunk * -(-(box.x1 - box.x0) // chunk) <= storage.processors * bounds.min_blocks
        wait = 0 if all_at_a_time else None
        cut, waiting = cut_into_chunks(box.x1 - box.x0, chunk, storage.lead, 1, (sides.x0, sides.x1), wait)
        return pass_launch(THREADS, cut, of_chunk, waiting, any(sides[2:]), all_at_a_time)

    bounds = LaunchBounds(THREADS, 3 if norms == "none" else 2)
    kernel = specialised(sweep_once, stencil, norms, exchanges)
    return PassKernel(kernel, bounds, 0, 0, launch_with_exchange if exchanges else launch)
