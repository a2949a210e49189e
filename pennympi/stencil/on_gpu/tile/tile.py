"""All sweeps of a grid of two dimensions in one launch: a block keeps a tile of the field in the registers of its warps.

A warp has some rows of 32 quads.  The neighbours at the left and right arrive by shuffles, the rows of other warps
through shared memory (a barrier of the block a sweep), and the rim from other blocks by packets (``tile_shape.py``), once
in ``depth`` sweeps.  There is no barrier of the grid.  The rim is exchanged before the first sweep too, so the fields'
halos need not be valid, except for fixed values.

One more warp sums up the norms: in each sweep it adds up the squares that the lanes stored in shared memory.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ....compile.options import LaunchBounds
from ....compile.unroll import Static, specialised, static
from ....cuda.compiler.gpu import cuda
from ....cuda.device.intrinsics import load_word, store_word
from ....kernels.block import Elements, Words, block, real
from ....kernels.sweep.formula import Stencil, read_numbers
from ....kernels.sweep.norm import LEVEL_BYTES
from ....kernels.sweep.records import SweepFields
from ..warp.quads import WIDTH
from ..warp.shared import load_vector, store_vector
from ..warp.warp import LANES, warp_number
from .block_squares import WARP_BYTES, add_up, store_squares
from .tile_place import WORD, Tiles, lane_of, place_anew, tile_of
from .tile_rim import keep_rows, receive, send, start_exchanges, update_row, update_rows
from .tile_rows import load_rows, squares_of_rows, store_rows, sweep_rows
from .tile_shape import MOST_ROWS, NUMBER, TABLE_WORDS, Cut, cut_of, tables

HALF = WIDTH // 2


def sweep_tiles(
    tiles: Static[Tiles],
    ctx,
    fields: SweepFields,
    tables: Words,
    values: Elements,
    words: Words,
    sweeps: int,
):
    """The kernel."""
    table = tables + block() * (TABLE_WORDS * WORD)
    place = lane_of(tiles, tile_of(table), read_numbers(tiles.stencil, values))
    if warp_number() < tiles.shape.warps:
        sweep_all(tiles, (ctx, table), fields, sweeps, place)
    elif tiles.norms != "none":
        sum_up(tiles, words, sweeps, place)


def sweep_all(tiles: Static[Tiles], block_of_grid, fields, sweeps, place):
    """All sweeps of a warp.  block_of_grid: (ctx, address of the block's table)"""
    ctx, table = block_of_grid
    shape, has_coefficient = tiles.shape, tiles.stencil.has_coefficient
    number = load_word(table + WORD * NUMBER)
    u, c = begin(tiles, block_of_grid, fields, number, place)
    number += has_coefficient
    remaining, values, k = 0, no_values(tiles), 0  # remaining: sweeps until the next exchange
    while k < sweeps:
        publish(tiles, u, k & 1, place)
        if remaining == 0:
            number += 1
            send(tiles, u, number, place)
        if tiles.norms == "every" and k > 0:
            store_norm(tiles, values, k - 1, place)
        if remaining == 0:
            receive(tiles, ctx, number, table, place)
        cuda.syncthreads()
        above, below = neighbour_rows(tiles, k & 1, place, real(0.0))
        if remaining == 0:
            cells, moved = place.shared + tiles.memory.cells + (number & 1) * tiles.half_cells, place_anew(place)
            u = update_rows(tiles, u, cells, moved)
            above = update_row(tiles, above, moved.row - 1, cells, moved)
            below = update_row(tiles, below, moved.row + shape.rows, cells, moved)
            remaining = shape.depth
        u, values = sweep_warp(tiles, (above, *u, below), c, k == sweeps - 1, place)
        remaining -= 1
        k += 1
    if tiles.norms != "none":
        store_norm(tiles, values, sweeps - 1, place)
        cuda.syncthreads()
    store_rows(tiles, u, fields.new + offset_of(tiles, fields, place), fields.row * tiles.stencil.item_bytes, place)
    if (place.warp == 0) & (place.lane == 0):
        store_word(table + WORD * NUMBER, number)


def offset_of(tiles: Static[Tiles], fields, place):
    """Bytes from the start of a field to this lane's quad of the first own row."""
    tile = place.tile
    return (tile.row * fields.row + tile.column + place.column - tiles.rim) * tiles.stencil.item_bytes


def begin(tiles: Static[Tiles], block_of_grid, fields, number, place):
    """A warp's rows of the field and of the coefficients, before the first sweep."""
    (ctx, table), half = block_of_grid, tiles.half_cells
    pitch, offset = fields.row * tiles.stencil.item_bytes, offset_of(tiles, fields, place)
    u, cells = load_rows(tiles, fields.old + offset, pitch, place, real(0.0)), place.shared + tiles.memory.cells
    keep_rows(tiles, u, cells, place)
    keep_rows(tiles, u, cells + half, place)
    start_exchanges(tiles, table, place)
    cuda.syncthreads()
    c = u
    if tiles.stencil.has_coefficient:
        c = load_rows(tiles, fields.coefficient + offset, pitch, place, real(0.0))
        send(tiles, c, number + 1, place)
        receive(tiles, ctx, number + 1, table, place)
        cuda.syncthreads()
        c = update_rows(tiles, c, cells + ((number + 1) & 1) * half, place)
    return u, c


def sweep_warp(tiles: Static[Tiles], rows, c, is_last, place):
    """(rows, values) after a sweep of a warp.  rows: the warp's rows, with the row above and the row below them"""
    depth, n_rows, own = tiles.shape.depth, tiles.shape.rows, place.tile.own
    u, values = tuple(rows[r + 1] for r in static(n_rows)), no_values(tiles)
    if tiles.norms == "last" and is_last:
        u, values = sweep_rows(tiles, (True, True), rows, c, place)
    elif (place.row >= depth) & (place.row + n_rows <= depth + own):
        u, values = sweep_rows(tiles, (False, tiles.norms == "every"), rows, c, place)
    elif place.row < 2 * depth + own:  # the last warps may have no row of the tile
        u, values = sweep_rows(tiles, (True, tiles.norms == "every"), rows, c, place)
    return u, values


# The first and last rows of warps, for the neighbouring warps


def publish(tiles: Static[Tiles], u, buffer, place):
    """Store the warp's first and last row; a barrier follows, then ``neighbour_rows``."""
    store_quad(tiles, row_address(tiles, place, buffer, place.warp, 0), u[0])
    store_quad(tiles, row_address(tiles, place, buffer, place.warp, 1), u[tiles.shape.rows - 1])


def neighbour_rows(tiles: Static[Tiles], buffer, place, zero):
    """The row above and the row below the warp's rows."""
    above = load_quad(tiles, row_address(tiles, place, buffer, place.warp - 1, 1), zero)
    return above, load_quad(tiles, row_address(tiles, place, buffer, place.warp + 1, 0), zero)


def row_address(tiles: Static[Tiles], place, buffer, warp, is_last):
    """Address of this lane's quad of the first or last row of a warp."""
    offset = (((buffer * (tiles.shape.warps + 2) + warp + 1) * 2 + is_last) * LANES) * tiles.quad_bytes
    return place.shared + tiles.memory.edges + offset + place.lane * 16


def load_quad(tiles: Static[Tiles], address, like):
    """A quad.  A quad of float64 lies in two halves, so that the lanes of a warp access neighbouring 16 bytes."""
    if tiles.stencil.item_bytes == 8:
        return load_vector(address, like) + load_vector(address + LANES * 16, like)
    return load_vector(address, like)


def store_quad(tiles: Static[Tiles], address, quad):
    """Store a quad as ``load_quad`` loads it."""
    if tiles.stencil.item_bytes == 8:
        store_vector(address, quad[:HALF])
        store_vector(address + LANES * 16, quad[HALF:])
    else:
        store_vector(address, quad)


# The norms, which one more warp sums up


def no_values(tiles: Static[Tiles]):
    """A value of 0 for each row."""
    return tuple(real(0.0) for _ in static(tiles.shape.rows))


def store_norm(tiles: Static[Tiles], values, k, place):
    """Store the squares of sweep k in shared memory."""
    depth, warps = tiles.shape.depth, tiles.shape.warps
    counts = (place.row < depth + place.tile.own) & (place.row + tiles.shape.rows > depth)
    address = place.shared + tiles.memory.squares + ((k & 1) * warps + place.warp) * WARP_BYTES
    store_squares(address, place.lane, squares_of_rows(tiles, values, place), counts)


def sum_up(tiles: Static[Tiles], words, sweeps, place):
    """The work of the last warp: in each sweep it adds the squares of the previous sweep to the words."""
    warps, is_every = tiles.shape.warps, tiles.norms == "every"
    squares, set_bytes = place.shared + tiles.memory.squares, warps * WARP_BYTES
    cuda.syncthreads()
    if tiles.stencil.has_coefficient:
        cuda.syncthreads()
    k = 0
    while k < sweeps:
        cuda.syncthreads()
        if is_every and k > 0:
            add_up(warps, words + (k - 1) * LEVEL_BYTES, squares + ((k - 1) & 1) * set_bytes, place.lane)
        k += 1
    cuda.syncthreads()
    last = sweeps - 1
    add_up(warps, words + last * LEVEL_BYTES if is_every else words, squares + (last & 1) * set_bytes, place.lane)


class Resident(NamedTuple):
    """A kernel that does all sweeps in one launch.

    kernel:      ``sweep_tiles``; fields.new may be fields.old; words: address of the words of the first sweep with a norm
    blocks, threads, bounds, shared_bytes: parameters of the launch, whose blocks must all run at the same time
    inbox_bytes: size of the inboxes in symmetric memory, which must be zero before the first launch
    tables:      (address of the inboxes, peer offset of each PE) -> the int64 words of all blocks, which launches change
    """

    kernel: Callable[..., None]
    blocks: int
    threads: int
    bounds: LaunchBounds
    shared_bytes: int
    inbox_bytes: int
    tables: Callable[[int, Sequence[int]], list[int]]


def tiles_of(stencil: Stencil, parts: Any, me: int, depth: int, blocks: int) -> Cut | None:
    """The tiles of a PE; None unless the grid has two dimensions and tiles fit.  blocks: the most blocks of a PE"""
    most = MOST_ROWS[stencil.dtype] // (1 + stencil.has_coefficient)
    return cut_of(parts, me, depth, blocks, most) if stencil.n_dims == 2 else None


def resident(stencil: Stencil, parts: Any, me: int, depth: int, norms: str, blocks: int) -> Resident:
    """The kernel of a PE whose ``tiles_of`` is not None."""
    cut = tiles_of(stencil, parts, me, depth, blocks)
    assert cut is not None
    tiles, n_blocks = Tiles(stencil, cut.shape, norms), cut.tiles[0] * cut.tiles[1]
    inbox_bytes = 2 * cut.shape.cells * tiles.packet_bytes
    threads = LANES * (cut.shape.warps + (norms != "none"))

    def words(memory: int, peer_offsets: Sequence[int]) -> list[int]:
        inbox = lambda pe, tile: memory + peer_offsets[pe] + tile * inbox_bytes  # noqa: E731
        return [word for table in tables(parts, me, cut, inbox, tiles.packet_bytes) for word in table]

    kernel = specialised(sweep_tiles, tiles)
    bounds = LaunchBounds(threads)
    return Resident(kernel, n_blocks, threads, bounds, tiles.memory.nbytes, n_blocks * inbox_bytes, words)
