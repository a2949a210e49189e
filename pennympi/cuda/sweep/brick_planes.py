"""A sweep of a brick, in place: what a thread does with its 16 bytes of each plane (see ``brick.py``)."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from numba import cuda

from ...kernels.block import real
from ...kernels.sweep.formula import Stencil, applied
from ...kernels.sweep.norm import half_sum, no_squares
from .columns import each
from .norm import ALL_LANES, warp_adder
from .shared import VECTOR_BYTES, load_number, load_vector, masked, store_number, store_vector
from .warp import LANES, pick, within


def width_of(stencil: Stencil) -> int:
    """Cells of a thread."""
    return VECTOR_BYTES // stencil.item_bytes


class Lane(NamedTuple):
    """A thread's part of each plane, a piece: half a group of the norm.

    at:     address in plane 0;  below: of the row before it
    begin, end: the live planes that it goes down
    flags: of its cells, apart from the plane: whether each is live, masks of own points, whether all are live
    pair:  (whether the piece is the second half of its group, the lane with the other half)
    """

    at: int
    below: int
    beyond: int
    begin: int
    end: int
    flags: Any
    pair: tuple[bool, int]


@cache
def _inside(width: int) -> Callable[..., Any]:
    """``inside(x, n)``: for each of x, .., x + width - 1 whether it is one of 0, .., n - 1."""

    def of(k: int) -> Callable[..., Any]:
        def inside(x, n):
            return within(x + k, n)

        return inside

    return each(of, width)


@cache
def _masks(width: int) -> Callable[..., Any]:
    """``masks(x, n)``: for each of x, .., x + width - 1 a mask, -1 if it is one of 0, .., n - 1, else 0."""

    def of(k: int) -> Callable[..., Any]:
        def mask(x, n):
            return -1 if within(x + k, n) else 0

        return mask

    return each(of, width)


@cache
def _half(width: int, whole: bool) -> Callable[..., Any]:
    """``value(masks, new, old)``: that of half a group, of the changes whose mask is not 0.  whole: one mask for all"""
    sum_of = half_sum(width)

    def of(k: int) -> Callable[..., Any]:
        def change(masks, new, old):
            return new[k] - old[k] if whole else masked(new[k] - old[k], masks[k])

        return change

    changes = each(of, width)

    def value(masks, new, old):
        found = sum_of(changes(masks, new, old))
        return masked(found, masks[0]) if whole else found

    return value


def _joined(pair, one, two):
    """The value of a group of two planes for each lane: ``one`` and ``two`` are those of its half in each of them."""
    second, partner = pair
    other = cuda.shfl_sync(ALL_LANES, pick(second, one, two), partner)
    return pick(second, two, one) + other


def _storer(width: int, item_bytes: int) -> Callable[..., None]:
    """``store(at, new, flags)``: each cell whose flag is set, to shared memory."""

    def none(at, new, flags):
        pass

    store_cells = none
    for k in range(width):
        store_cells = _one_more(store_cells, k, k * item_bytes)
    return store_cells


def _one_more(before: Callable[..., None], k: int, offset: int) -> Callable[..., None]:
    def more(at, new, flags):
        before(at, new, flags)
        if flags[k]:
            store_number(at + offset, new[k])

    return more


@cache
def _formula(stencil: Stencil) -> Callable[..., Any]:
    """``values(here, x, y, line, rest)``: the new value of each cell.

    x, y: the cells (before, after) along the axes;  line: here with the cells beside it;  rest: (numbers, coefficients)
    """
    apply = applied(stencil)

    def of(k: int) -> Callable[..., Any]:
        def three(here, x, y, line, rest):
            z = line[k], line[k + 2]
            return real(apply(here[k], (x[0][k], x[1][k]), (y[0][k], y[1][k]), z, (rest[0], rest[1][k])))

        def two(here, x, y, line, rest):
            return real(apply(here[k], (), (x[0][k], x[1][k]), (line[k], line[k + 2]), (rest[0], rest[1][k])))

        def one(here, x, y, line, rest):
            return real(apply(here[k], (), (), (line[k], line[k + 2]), (rest[0], rest[1][k])))

        return {3: three, 2: two, 1: one}[stencil.n_dims]

    return each(of, 16 // stencil.item_bytes)


@cache
def _flags(stencil: Stencil, whole: bool) -> Callable[..., Any]:
    """``flags(cell, axis, live, own)``: (live, own, all_live) of the cells from ``cell`` on.  live, own: of their row"""
    width, inside, masks = width_of(stencil), _inside(width_of(stencil)), _masks(1 if whole else width_of(stencil))

    def flags(cell, axis, live, own):
        live_cells, own_cells = axis.live_stop - axis.live if live else 0, axis.own if own else 0
        return (
            inside(cell - axis.live, live_cells),
            masks(cell - axis.rim, own_cells),
            within(cell - axis.live, live_cells) & within(cell + width - 1 - axis.live, live_cells),
        )

    return flags


@cache
def lanes_of(stencil: Stencil, whole: bool) -> Callable[..., Lane]:
    """``lane_of(bricks, cells, x, y, z)``: this thread's part of the planes."""
    n_dims, width, flags = stencil.n_dims, width_of(stencil), _flags(stencil, whole)

    def lane_of(bricks, cells, x, y, z):
        thread, odd = cuda.threadIdx.x, z.rim // width & 1  # whether own points begin at an odd piece
        second = (thread + (odd if n_dims == 2 else 0)) & 1
        pair = second == 1, (thread + 1 - 2 * second) % LANES
        if n_dims == 3:  # an even number of pieces a row: the halves of a group are in one warp from an even lane on
            columns, piece = bricks.row_bytes // VECTOR_BYTES, thread + odd
            row, column = piece // columns, piece % columns * width
            at = cells + VECTOR_BYTES * piece
            below = at - bricks.row_bytes if row > 0 else at
            live, own = within(row - y.live, y.live_stop - y.live), within(row - y.rim, y.own)
            beyond = bricks.plane_bytes if x.live_stop < x.own + 2 * x.rim else 0
            return Lane(at, below, beyond, x.live, x.live_stop, flags(column, z, live, own), pair)
        first, stop = x.live, x.live_stop
        if n_dims == 1:
            first, stop = 0, (z.own + 2 * z.rim + LANES * width - 1) // (LANES * width)
        begin = min(first + thread // LANES * bricks.chunk, stop)
        at, end = cells + VECTOR_BYTES * (thread % LANES), min(begin + bricks.chunk, stop)
        return Lane(at, 0, 0, begin, end, flags(thread % LANES * width, z, True, True), pair)

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
                right = load_number(at + VECTOR_BYTES, here[0])
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
    formula, flags, beside = _formula(stencil), _flags(stencil, whole), _beside(stencil)
    half, add, keep_live = _half(width, whole), warp_adder(1), _keeper(stencil)

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
        new = formula(here, (before, after), rows, beside(at, here, before, after), (numbers, coefficients))
        live, own, all_live = lane.flags
        if n_dims == 1:
            live, own, all_live = flags((plane * LANES + cuda.laneid) * width, z, True, True)
        value = value_before
        if counts:
            value = real(0.0)
            if n_dims == 1 or within(plane - x.rim, x.own):
                value = half(own, new, here)
            second = (plane - lane.begin) & 1 == 1
            if second or last:
                squares = add(squares, (_joined(lane.pair, value_before if second else real(0.0), value),))
        if n_dims == 3:
            if plane > lane.begin:
                keep_live(at - bricks.plane_bytes, pending, live, all_live)
            cuda.syncthreads()
        else:
            keep_live(at, new, live, all_live)
        return after, (new, next_rows, value), squares

    return step


def rows_beside(lane, bricks, at):
    """The rows beside a lane's part, at an address, of a plane."""
    return load_vector(lane.below - lane.at + at, real(0.0)), load_vector(at + bricks.row_bytes, real(0.0))


@cache
def _keeper(stencil: Stencil) -> Callable[..., None]:
    """``keep_live(at, new, live, all_live)``: store the new values of live cells."""
    store_some = _storer(width_of(stencil), stencil.item_bytes)

    def keep_live(at, new, live, all_live):
        if all_live:
            store_vector(at, new)
        else:
            store_some(at, new, live)

    return keep_live


@cache
def sweeper(stencil: Stencil, whole: bool) -> Callable[..., Any]:
    """``sweep(lane, bricks, x, z, numbers, counts)``: one sweep; the squares of its changes if it counts."""
    n_dims, step, keep_live = stencil.n_dims, _step(stencil, whole), _keeper(stencil)

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
            keep_live(at - pb, kept[0], lane.flags[0], lane.flags[2])
        return squares

    return sweep
