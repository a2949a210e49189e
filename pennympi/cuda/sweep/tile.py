"""All sweeps of a grid of two dimensions in one launch: a block keeps a tile of the field in the registers of its warps.

A warp has some rows of 32 quads.  East and west come by shuffles, the rows of other warps through shared memory (a
barrier of the block a sweep), the rim from other blocks by packets (``tile_shape.py``), once in ``depth`` sweeps: there
is no barrier of the grid.  The rim is exchanged before the first sweep too: no halo need be valid but fixed values.

The norms are summed up by one more warp, which adds up what the lanes left in shared memory in the sweep before.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from ...compile.options import LaunchBounds
from ...kernels.block import Elements, Words, block, real
from ...kernels.sweep.formula import Stencil, numbers_of
from ...kernels.sweep.norm import LEVEL_BYTES
from ...kernels.sweep.records import SweepFields
from ..gpu import cuda
from ..intrinsics import load_word, store_word
from .block_squares import WARP_BYTES, leave, summing
from .columns import each
from .quads import WIDTH
from .shared import load_vector, shared_start, store_vector
from .tile_place import WORD, Lane, Memory, memory_of, place_anew, tile_of
from .tile_rim import exchanging, rim_of
from .tile_rows import movers, squares_of_rows, sweep_rows
from .tile_shape import MOST_ROWS, NUMBER, TABLE_WORDS, Cut, Shape, cut_of, tables
from .warp import LANES, lane_number, warp_number


@cache
def edges_of(stencil: Stencil, shape: Shape, memory: Memory) -> tuple[Any, Any]:
    """(``publish``, ``beside``): the first and last rows of warps, for the warps beside them.

    publish(u, buffer, place), then a barrier, then beside(buffer, place, zero): the rows north and south of a warp's
    """
    rows, warps, quad_bytes = shape.rows, shape.warps, WIDTH * stencil.item_bytes
    # A quad of float64 lies in two halves, so that the lanes of a warp access 16 bytes after 16 bytes.
    halves, apart, half = stencil.item_bytes == 8, LANES * 16, WIDTH // 2

    def load_quad(at, like):
        if halves:
            return load_vector(at, like) + load_vector(at + apart, like)
        return load_vector(at, like)

    def store_quad(at, quad):
        if halves:
            store_vector(at, quad[:half])
            store_vector(at + apart, quad[half:])
        else:
            store_vector(at, quad)

    def row_at(place, buffer, warp, last):
        """Address of this lane's quad."""
        offset = (((buffer * (warps + 2) + warp + 1) * 2 + last) * LANES) * quad_bytes
        return place.shared + memory.edges + offset + place.lane * 16

    def publish(u, buffer, place):
        store_quad(row_at(place, buffer, place.warp, 0), u[0])
        store_quad(row_at(place, buffer, place.warp, 1), u[rows - 1])

    def beside(buffer, place, zero):
        north = load_quad(row_at(place, buffer, place.warp - 1, 1), zero)
        return north, load_quad(row_at(place, buffer, place.warp + 1, 0), zero)

    return publish, beside


@cache
def step_of(stencil: Stencil, shape: Shape, norms: str) -> Callable[..., Any]:
    """``step(u, c, edges, values, last, tile, place) -> (u, values)``: a sweep of a warp.  values: those of no row"""
    rows, depth, every, only_last = shape.rows, shape.depth, norms == "every", norms == "last"
    sweep_own, sweep_mixed = (sweep_rows(stencil, shape, mixed, every) for mixed in (False, True))
    sweep_last = sweep_rows(stencil, shape, True, True)

    def step(u, c, edges, values, last, tile, place):
        north, south = edges
        if only_last and last:
            u, values = sweep_last(u, c, north, south, place, tile)
        elif (place.row >= depth) & (place.row + rows <= depth + tile.own):
            u, values = sweep_own(u, c, north, south, place, tile)
        elif place.row < 2 * depth + tile.own:  # the last warps may have no row of the tile
            u, values = sweep_mixed(u, c, north, south, place, tile)
        return u, values

    return step


@cache
def leaving(stencil: Stencil, shape: Shape, memory: Memory) -> tuple[Any, Any]:
    """(``nothing``, ``leave_them``): nothing() are values of no row;  leave_them(values, k, tile, place): of sweep k."""
    rows, depth, warps, squares_of = shape.rows, shape.depth, shape.warps, squares_of_rows(stencil, shape)

    def zero(r: int) -> Callable[[], Any]:
        def value():
            return real(0.0)

        return value

    def leave_them(values, k, tile, place):
        counts = (place.row < depth + tile.own) & (place.row + rows > depth)
        at = place.shared + memory.squares + ((k & 1) * warps + place.warp) * WARP_BYTES
        leave(at, place.lane, squares_of(values, place), counts)

    return each(zero, rows), leave_them


@cache
def beginning(stencil: Stencil, shape: Shape, memory: Memory) -> Callable[..., Any]:
    """``begin(ctx, fields, table, number, tile, place)``: a warp's rows of the field and of the coefficients."""
    item_bytes, has_coefficient = stencil.item_bytes, stencil.has_coefficient
    rim, half = WIDTH * shape.side, shape.cells * WIDTH * item_bytes  # half of the cells
    _, update_rows, keep_rows = rim_of(stencil, shape)
    load_rows, _ = movers(stencil, shape)
    start, give, take = exchanging(stencil, shape, memory)

    def begin(ctx, fields, table, number, tile, place):
        pitch = fields.row * item_bytes
        offset = (tile.y * fields.row + tile.x + place.column - rim) * item_bytes
        u, cells = load_rows(fields.old + offset, pitch, tile, place, real(0.0)), place.shared + memory.cells
        keep_rows(u, cells, place, tile)
        keep_rows(u, cells + half, place, tile)
        start(table, tile, place)
        cuda.syncthreads()
        c = u
        if has_coefficient:
            c = load_rows(fields.coefficient + offset, pitch, tile, place, real(0.0))
            give(c, number + 1, place, tile)
            take(ctx, number + 1, table, place, tile)
            cuda.syncthreads()
            c = update_rows(c, cells + ((number + 1) & 1) * half, place, tile)
        return u, c

    return begin


@cache
def sweeps_of(stencil: Stencil, shape: Shape, memory: Memory, norms: str) -> Callable[..., None]:
    """``run(ctx, fields, table, sweeps, tile, place)``: all sweeps of a warp."""
    item_bytes, has_coefficient = stencil.item_bytes, stencil.has_coefficient
    every, has_norms = norms == "every", norms != "none"
    depth, rim, half = shape.depth, WIDTH * shape.side, shape.cells * WIDTH * item_bytes  # half of the cells
    update_row, update_rows, _ = rim_of(stencil, shape)
    _, store_rows = movers(stencil, shape)
    begin, (_, give, take) = beginning(stencil, shape, memory), exchanging(stencil, shape, memory)
    publish, beside = edges_of(stencil, shape, memory)
    nothing, leave_them = leaving(stencil, shape, memory)
    step, rows = step_of(stencil, shape, norms), shape.rows

    def run(ctx, fields, table, sweeps, tile, place):
        number = load_word(table + WORD * NUMBER)
        u, c = begin(ctx, fields, table, number, tile, place)
        number += has_coefficient
        left, values, k = 0, nothing(), 0
        while k < sweeps:
            publish(u, k & 1, place)
            if left == 0:
                number += 1
                give(u, number, place, tile)
            if every and k > 0:
                leave_them(values, k - 1, tile, place)
            if left == 0:
                take(ctx, number, table, place, tile)
            cuda.syncthreads()
            north, south = beside(k & 1, place, real(0.0))
            if left == 0:
                at, here = place.shared + memory.cells + (number & 1) * half, place_anew(place)
                u = update_rows(u, at, here, tile)
                north = update_row(north, here.row - 1, at, here, tile)
                south = update_row(south, here.row + rows, at, here, tile)
                left = depth
            u, values = step(u, c, (north, south), nothing(), k == sweeps - 1, tile, place)
            left -= 1
            k += 1
        if has_norms:
            leave_them(values, sweeps - 1, tile, place)
            cuda.syncthreads()
        offset = (tile.y * fields.row + tile.x + place.column - rim) * item_bytes
        store_rows(u, fields.new + offset, fields.row * item_bytes, tile, place)
        if (place.warp == 0) & (place.lane == 0):
            store_word(table + WORD * NUMBER, number)

    return run


@cache
def norms_of(stencil: Stencil, shape: Shape, memory: Memory, norms: str) -> Callable[..., None]:
    """``run(words, sweeps, place)``: what the last warp does, one sweep after the others."""
    has_coefficient, every, set_bytes = stencil.has_coefficient, norms == "every", shape.warps * WARP_BYTES
    add_up = summing(shape.warps)

    def run(words, sweeps, place):
        at = place.shared + memory.squares
        cuda.syncthreads()
        if has_coefficient:
            cuda.syncthreads()
        k = 0
        while k < sweeps:
            cuda.syncthreads()
            if every and k > 0:
                add_up(words + (k - 1) * LEVEL_BYTES, at + ((k - 1) & 1) * set_bytes, place.lane)
            k += 1
        cuda.syncthreads()
        last = sweeps - 1
        add_up(words + last * LEVEL_BYTES if every else words, at + (last & 1) * set_bytes, place.lane)

    return run


@cache
def tile_kernel(stencil: Stencil, shape: Shape, norms: str) -> Callable[..., None]:
    """The kernel.  norms: "none", "last" or "every"."""
    rows, warps, side, has_norms = shape.rows, shape.warps, shape.side, norms != "none"
    memory, read_numbers = memory_of(shape, stencil.item_bytes, norms), numbers_of(stencil)
    sweep_all, sum_up = (one(stencil, shape, memory, norms) for one in (sweeps_of, norms_of))

    def kernel(ctx, fields: SweepFields, tiles: Words, values: Elements, words: Words, sweeps: int):
        table = tiles + block() * (TABLE_WORDS * WORD)
        tile = tile_of(table)
        warp, lane = warp_number(), lane_number()
        own = WIDTH * (lane - side)
        mine = (own >= 0) & (own < tile.width)
        first = (not tile.west) & (lane == side - 1)
        last = (not tile.east) & (own <= tile.width) & (tile.width < own + WIDTH)
        place = Lane(shared_start(), lane, warp, warp * rows, WIDTH * lane, mine, first, last, read_numbers(values))
        if warp < warps:
            sweep_all(ctx, fields, table, sweeps, tile, place)
        elif has_norms:
            sum_up(words, sweeps, place)

    return kernel


class Resident(NamedTuple):
    """A kernel that makes all sweeps in one launch.

    kernel(ctx, fields: SweepFields, tables: Words, values: Elements, words: Words, sweeps):
        fields.new: the result, which may be fields.old;  words: of the first sweep that has a norm
    blocks, threads, bounds, shared_bytes: of the launch, all blocks of which must run at the same time
    inbox_bytes: symmetric memory, zero before the first launch
    tables: (address of that memory, what to add to it for each PE) -> int64 words, which launches change
    """

    kernel: Callable[..., None]
    blocks: int
    threads: int
    bounds: LaunchBounds
    shared_bytes: int
    inbox_bytes: int
    tables: Callable[[int, Sequence[int]], list[int]]


def tiles_of(stencil: Stencil, parts: Any, me: int, depth: int, blocks: int) -> Cut | None:
    """The tiles of a PE; None where the grid has not two dimensions, or no tiles fit.  blocks: of a PE at most"""
    most = MOST_ROWS[stencil.dtype] // (1 + stencil.has_coefficient)
    return cut_of(parts, me, depth, blocks, most) if stencil.n_dims == 2 else None


def resident(stencil: Stencil, parts: Any, me: int, depth: int, norms: str, blocks: int) -> Resident:
    """The kernel of a PE for which ``tiles_of`` finds tiles."""
    cut = tiles_of(stencil, parts, me, depth, blocks)
    assert cut is not None
    shape, n_blocks = cut.shape, cut.tiles[0] * cut.tiles[1]
    packet_bytes = 2 * WIDTH * stencil.item_bytes
    inbox_bytes = 2 * shape.cells * packet_bytes
    threads = LANES * (shape.warps + (norms != "none"))

    def words(memory: int, peer_offsets: Sequence[int]) -> list[int]:
        every = tables(parts, me, cut, lambda pe, one: memory + peer_offsets[pe] + one * inbox_bytes, packet_bytes)
        return [word for table in every for word in table]

    memory = memory_of(shape, stencil.item_bytes, norms)
    kernel = tile_kernel(stencil, shape, norms)
    return Resident(kernel, n_blocks, threads, LaunchBounds(threads), memory.nbytes, n_blocks * inbox_bytes, words)
