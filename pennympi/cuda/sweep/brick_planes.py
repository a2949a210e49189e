"""A sweep of a brick, in place: what a thread does with its 16 bytes of each plane (see ``brick.py``)."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from numba import cuda

from ...kernels.block import real
from ...kernels.sweep.formula import Stencil
from ...kernels.sweep.norm import no_squares
from .norm import warp_adder
from .shared import PIECE_BYTES, load_number, load_vector, store_number, store_vector
from .stepped import half_of_piece, stepped_piece
from .warp import ALL_LANES, LANES, pick, within


def width_of(stencil: Stencil) -> int:
    """Cells of a thread."""
    return PIECE_BYTES // stencil.item_bytes


class Lane(NamedTuple):
    """A thread's part of each plane, a piece: half a group of the norm.

    at:     address in plane 0;  below: of the row before it
    begin, end: the live planes that it goes down
    live, own: the parts of its piece, apart from the plane (``Parts``)
    pair:  (whether the piece is the second half of its group, the lane with the other half)
    """

    at: int
    below: int
    beyond: int
    begin: int
    end: int
    live: Any
    own: Any
    pair: tuple[bool, int]


class Parts(NamedTuple):
    """What is done with the part of a piece that lies among n cells from ``start`` on.

    part_of: (cell, start, n) -> the part of the piece that begins at a cell
    half:    (new, old, part) -> the value of half a group, of the changes in the part
    store:   (at, new, part): to shared memory
    """

    part_of: Callable[..., Any]
    half: Callable[..., Any]
    store: Callable[..., None]


@cache
def _parts(stencil: Stencil, whole: bool) -> Parts:
    """whole: a part is all of a piece or nothing, a flag says which;  else it is (first, stop)"""
    width, half, store_some = width_of(stencil), half_of_piece(stencil), _nothing
    for k in range(width):
        store_some = _one_more(store_some, k, k * stencil.item_bytes)

    def is_there(cell, start, n):
        return within(cell - start, n)

    def half_if(new, old, there):
        return pick(there, half(new, old, 0, width), real(0.0))

    def store_if(at, new, there):
        if there:
            store_vector(at, new)

    def bounds(cell, start, n):
        return start - cell, start + n - cell

    def half_within(new, old, part):
        return half(new, old, part[0], part[1])

    def store_within(at, new, part):
        if part[0] <= 0 and width <= part[1]:
            store_vector(at, new)
        else:
            store_some(at, new, part)

    return Parts(is_there, half_if, store_if) if whole else Parts(bounds, half_within, store_within)


def _nothing(at, new, part):
    pass


def _one_more(before: Callable[..., None], k: int, offset: int) -> Callable[..., None]:
    def more(at, new, part):
        before(at, new, part)
        if part[0] <= k and k < part[1]:
            store_number(at + offset, new[k])

    return more


def _joined(pair, one, two):
    """The value of a group of two planes for each lane: ``one`` and ``two`` are those of its half in each of them."""
    second, partner = pair
    other = cuda.shfl_sync(ALL_LANES, pick(second, one, two), partner)
    return pick(second, two, one) + other


@cache
def lanes_of(stencil: Stencil, whole: bool) -> Callable[..., Lane]:
    """``lane_of(bricks, cells, x, y, z)``: this thread's part of the planes."""
    n_dims, width, part_of = stencil.n_dims, width_of(stencil), _parts(stencil, whole).part_of

    def lane_of(bricks, cells, x, y, z):
        thread, odd = cuda.threadIdx.x, z.rim // width & 1  # whether own points begin at an odd piece
        second = (thread + (odd if n_dims == 2 else 0)) & 1
        pair = second == 1, (thread + 1 - 2 * second) % LANES
        if n_dims == 3:  # an even number of pieces a row: the halves of a group are in one warp from an even lane on
            columns, piece = bricks.row_bytes // PIECE_BYTES, thread + odd
            row, column = piece // columns, piece % columns * width
            at = cells + PIECE_BYTES * piece
            below = at - bricks.row_bytes if row > 0 else at
            n_live = z.live_stop - z.live if within(row - y.live, y.live_stop - y.live) else 0
            n_own = z.own if within(row - y.rim, y.own) else 0
            live, own = part_of(column, z.live, n_live), part_of(column, z.rim, n_own)
            beyond = bricks.plane_bytes if x.live_stop < x.own + 2 * x.rim else 0
            return Lane(at, below, beyond, x.live, x.live_stop, live, own, pair)
        first, stop = x.live, x.live_stop
        if n_dims == 1:
            first, stop = 0, (z.own + 2 * z.rim + LANES * width - 1) // (LANES * width)
        begin = min(first + thread // LANES * bricks.chunk, stop)
        at, end, column = cells + PIECE_BYTES * (thread % LANES), min(begin + bricks.chunk, stop), thread % LANES * width
        live, own = part_of(column, z.live, z.live_stop - z.live), part_of(column, z.rim, z.own)
        return Lane(at, 0, 0, begin, end, live, own, pair)

    return lane_of


@cache
def _beside(stencil: Stencil) -> Callable[..., Any]:
    """``beside(at, here, before, after)``: the cells of a lane with those beside it."""
    n_dims, item_bytes, width = stencil.n_dims, stencil.item_bytes, width_of(stencil)

    def beside(at, here, before, after):
        number = cuda.laneid
        left = cuda.shfl_up_sync(ALL_LANES, here[width - 1], 1)
        right = cuda.shfl_down_sync(ALL_LANES, here[0], 1)
        if n_dims == 3:
            if number == 0:
                left = load_number(at - item_bytes if cuda.threadIdx.x > 0 else at, here[0])
            if number == LANES - 1:
                right = load_number(at + PIECE_BYTES, here[0])
        if n_dims == 1:
            first = cuda.shfl_sync(ALL_LANES, before[width - 1], LANES - 1)
            last = cuda.shfl_sync(ALL_LANES, after[0], 0)
            left = first if number == 0 else left
            right = last if number == LANES - 1 else right
        return (left,) + here + (right,)

    return beside


@cache
def _step(stencil: Stencil, whole: bool) -> Callable[..., Any]:
    """``step(lane, bricks, x, z, rest, plane, last, at, before, here, kept, squares)``: the plane at an address.

    rest: (numbers, the plane after the lane's last one, whether the norm counts);  last: whether it is that last one
    kept: (of three dimensions: what the plane before has become, the rows beside this part of this plane, and of any:
          the value of the half group in the plane before)
    Returns (the plane after it as it was, kept for that plane, squares).
    """
    n_dims, has_coefficient, width = stencil.n_dims, stencil.has_coefficient, width_of(stencil)
    stepped, beside, add = stepped_piece(stencil), _beside(stencil), warp_adder(1)
    part_of, half, store = _parts(stencil, whole)

    def step(lane, bricks, x, z, rest, plane, last, at, before, here, kept, squares):
        numbers, beyond, counts = rest
        pending, rows, value_before = kept
        next_rows = rows
        if (
            n_dims == 3
        ):  # the rows of the next plane are loaded while this one is computed: no thread changes them meanwhile
            after = load_vector(at + (lane.beyond if last else bricks.plane_bytes), real(0.0))
            next_rows = rows_beside(lane, bricks, at if last else at + bricks.plane_bytes)
        else:
            after = beyond
            if not last:
                after = load_vector(at + bricks.plane_bytes, real(0.0))
        coefficients = here
        if has_coefficient:
            coefficients = load_vector(at + bricks.coefficient, real(0.0))
        x_side, y_side = (before, after), rows if n_dims == 3 else (before, after)
        new = stepped(here, x_side, y_side, beside(at, here, before, after), numbers, coefficients)
        live, own = lane.live, lane.own
        if n_dims == 1:
            cell = (plane * LANES + cuda.laneid) * width
            live, own = part_of(cell, z.live, z.live_stop - z.live), part_of(cell, z.rim, z.own)
        value = value_before
        if counts:
            value = real(0.0)
            if n_dims == 1 or within(plane - x.rim, x.own):
                value = half(new, here, own)
            second = (plane - lane.begin) & 1 == 1
            if second or last:
                squares = add(squares, (_joined(lane.pair, value_before if second else real(0.0), value),))
        if n_dims == 3:
            if plane > lane.begin:
                store(at - bricks.plane_bytes, pending, live)
            cuda.syncthreads()
        else:
            store(at, new, live)
        return after, (new, next_rows, value), squares

    return step


def rows_beside(lane, bricks, at):
    """The rows beside a lane's part, at an address, of a plane."""
    return load_vector(lane.below - lane.at + at, real(0.0)), load_vector(at + bricks.row_bytes, real(0.0))


@cache
def sweeper(stencil: Stencil, whole: bool) -> Callable[..., Any]:
    """``sweep(lane, bricks, x, z, numbers, counts)``: one sweep; the squares of its changes if it counts."""
    n_dims, step, store = stencil.n_dims, _step(stencil, whole), _parts(stencil, whole).store

    def sweep(lane, bricks, x, z, numbers, counts):
        pb = bricks.plane_bytes
        plane, at, squares = lane.begin, lane.at + lane.begin * bricks.plane_bytes, no_squares()
        here = beyond = load_vector(at, real(0.0))
        kept = here, (here, here), real(0.0)
        before = load_vector(at - pb if plane > 0 else at, real(0.0))
        if n_dims < 3:
            beyond = load_vector(lane.at + lane.end * pb, real(0.0))
            cuda.syncthreads()
        else:
            kept = here, rows_beside(lane, bricks, at), real(0.0)
        rest = numbers, beyond, counts
        while plane + 2 < lane.end:  # by three, so that the registers of a plane change their roles without moves
            one, kept, squares = step(lane, bricks, x, z, rest, plane, False, at, before, here, kept, squares)
            at += pb
            before, kept, squares = step(lane, bricks, x, z, rest, plane + 1, False, at, here, one, kept, squares)
            at += pb
            last = plane + 3 == lane.end
            here, kept, squares = step(lane, bricks, x, z, rest, plane + 2, last, at, one, before, kept, squares)
            at += pb
            plane += 3
        while plane < lane.end:
            last = plane + 1 == lane.end
            after, kept, squares = step(lane, bricks, x, z, rest, plane, last, at, before, here, kept, squares)
            before, here = here, after
            plane += 1
            at += pb
        if n_dims == 3:
            store(at - pb, kept[0], lane.live)
        return squares

    return sweep
