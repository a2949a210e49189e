"""All iterations in one kernel, whose blocks keep every vector on chip: a block has a brick of the part.

A thread has a column of the brick along x, of every vector, in registers.  What A is applied to lies in shared memory
too, with a rim of one point, which comes as packets while a sum is under way.  The image holds a slot for each point of
the bricks and around them, twice, used by turns: who sends for the next time but one has taken what its neighbours sent
for the next time, which they did when they had taken all of this time.

Three methods, made of the same parts:
cg:        the bits of loop.py.  Faces of r travel; the direction of the rim is computed from them.  Two sums in a row
one_sum:   Chronopoulos and Gear, "s-step iterative methods for symmetric linear systems" (1989): s = A p goes along
pipelined: Ghysels and Vanroose, "Hiding global synchronization latency in the preconditioned Conjugate Gradient
           algorithm" (2014): w = A r and z = A s go along too, and the sum is under way while A w is computed
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from numba import cuda

from pennympi.kernels.block import (
    add_shared,
    all_sent,
    block,
    is_leader,
    load,
    marked,
    product,
    read_epoch,
    real,
    send_number,
    store,
    sync,
    take_numbers,
)
from pennympi.kernels.in_kernel import (
    WORDS_BYTES,
    GridBarrier,
    add_to_bins,
    give_sums,
    last_grid_barrier,
    no_bins,
    read_sum,
    take_sums,
)

from .on_chip import SIDE, SLOT_BYTES, THREADS, VALUES, Bricks, Shape
from .points import ratio, stencil
from .records import Part, Scalars


class Column(NamedTuple):
    """A thread's points.

    at, slot: of the first one: elements from the start of a field, and address in the first half of the image
    own: how many are own ones;  y, z: place in the brick;  edge: whether that is at a side
    low_x, high_x, over_y, over_z: as in ``Bricks``, 0 where the points are not at that end
    """

    at: int
    slot: int
    own: int
    y: int
    z: int
    edge: bool
    low_x: int
    high_x: int
    over_y: int
    over_z: int


class Here(NamedTuple):
    """What a thread of a block knows.  slots: of its points of the rim;  tile: in shared memory"""

    part: Any
    column: Any
    slots: Any
    tile: Any
    me: int


class Sums(NamedTuple):
    """Where the sums stand.  rr: address of the last r * r in the history;  number: of the last exchange"""

    place: Any
    epoch: int
    number: int
    rr: int
    pap: float


class Vectors(NamedTuple):
    """A thread's points of the vectors that stay between launches."""

    u: Any
    r: Any
    p: Any


def each(point: Callable[[int], Any], n: int) -> Any:
    """``row(*args)``: the tuple of point(k)(*args) for k = 0, .., n - 1, since loops over tuples are not unrolled."""

    def joined(shorter: Any, one: Any) -> Any:
        def only(*args):
            return (one(*args),)

        def longer(*args):
            return shorter(*args) + (one(*args),)

        return longer if shorter else only

    row = None
    for k in range(n):
        row = joined(row, point(k))
    return row


def added(k: int) -> Any:
    """Of ``each``: v + by * w."""

    def point(v, by, w):
        return v[k] + product(by, w[k])

    return point


def as_real(k: int) -> Any:
    """Of ``each``: in the kernel's dtype."""

    def point(v):
        return real(v[k])

    return point


def in_half(k: int) -> Any:
    """Of ``each``: a slot in a half of the image."""

    def point(slots, half):
        return slots[k] + half if slots[k] != 0 else 0

    return point


@cache
def column_of(shape: Shape) -> Any:
    """``column(part, bricks, x, y, z)`` of a thread of the brick of these numbers."""
    depth, (_, rows, pitch), (nx, ny, nz) = shape.depth, shape.image, shape.own
    bricks_x, last_row, last_column = shape.bricks[0], shape.bricks[1] * SIDE - 1, shape.bricks[2] * SIDE - 1

    def column(part, bricks, x, y, z):
        own_y, own_z = cuda.threadIdx.x // SIDE, cuda.threadIdx.x % SIDE
        j, k = y * SIDE + own_y, z * SIDE + own_z
        at = part.first + x * depth * part.plane + j * part.row + k
        slot = bricks.image + (((x * depth + 1) * rows + j + 1) * pitch + k + 1) * SLOT_BYTES
        own = nx - x * depth if j < ny and k < nz else 0
        edge = own_y == 0 or own_y == SIDE - 1 or own_z == 0 or own_z == SIDE - 1
        low_x, high_x = bricks.low_x if x == 0 else 0, bricks.high_x if x == bricks_x - 1 else 0
        over_y = bricks.low_y if j == 0 else bricks.high_y if j == last_row else 0
        over_z = bricks.low_z if k == 0 else bricks.high_z if k == last_column else 0
        return Column(at, slot, own, own_y, own_z, edge, low_x, high_x, over_y, over_z)

    return column


@cache
def vectors_of(shape: Shape) -> Any:
    """(loads, stores, gives, shows, applies, bins) of a column of a vector."""
    depth, step, (joined_x, joined_y, joined_z) = shape.depth, shape.steps[0], shape.joined
    whole = all(n % size == 0 for n, size in zip(shape.own, (depth, SIDE, SIDE), strict=True))

    def load_at(i: int) -> Any:
        def point(field, part, c):
            return load(field, c.at + i * part.plane) if i < c.own else real(0.0)

        return point

    def store_at(i: int) -> Any:
        def point(field, part, c, v):
            if i < c.own:
                store(field, c.at + i * part.plane, v[i])
            return 0

        return point

    def give_at(i: int) -> Any:
        low, high = i == 0, i == depth - 1

        def point(v, half, number, c):
            to, x = c.slot + half + i * step, 1.0 * v[i]
            if low or high or c.edge:
                send_number(to, x, number)
            if joined_x and low and c.low_x != 0:
                send_number(to + c.low_x, x, number)
            if joined_x and high and c.high_x != 0:
                send_number(to + c.high_x, x, number)
            if joined_y and c.over_y != 0:
                send_number(to + c.over_y, x, number)
            if joined_z and c.over_z != 0:
                send_number(to + c.over_z, x, number)
            return 0

        return point

    def show_at(i: int) -> Any:
        def point(v, tile, c):
            tile[i, c.y + 1, c.z + 1] = v[i]
            return 0

        return point

    def apply_at(i: int) -> Any:
        def point(part, v, tile, c):
            y = tile[i, c.y, c.z + 1] + tile[i, c.y + 2, c.z + 1]
            z = tile[i, c.y + 1, c.z] + tile[i, c.y + 1, c.z + 2]
            q = stencil(part, v[i + 1], v[i] + v[i + 2], y, z)
            return q if whole or i < c.own else real(0.0)

        return point

    def bins_at(i: int, before: Any) -> Any:
        def begin(v, w):
            return add_to_bins(no_bins(), (1.0 * v[i]) * (1.0 * w[i]))

        def more(v, w):
            return add_to_bins(before(v, w), (1.0 * v[i]) * (1.0 * w[i]))

        return more if i else begin

    bins: Any = None
    for i in range(depth):
        bins = bins_at(i, bins)
    return (*(each(one, depth) for one in (load_at, store_at, give_at, show_at, apply_at)), bins)


@cache
def rim_of(shape: Shape) -> Any:
    """(slots, shows) of the points of the rim that a thread takes: at its ends along x, then of the sides along y and z.

    slots(bricks, c, x, y, z): 0 where nothing lies, and the rim is 0
    """
    depth, (step_x, step_y, step_z), (bricks_x, bricks_y, bricks_z) = shape.depth, shape.steps, shape.bricks
    side = depth * SIDE  # points of one

    def slot_at(j: int) -> Any:
        def point(bricks, x, y, z):
            n = cuda.threadIdx.x + j // 2 * THREADS
            high, i, k = n // side, n % side // SIDE, n % SIDE + 1
            slot, far = bricks.image + (x * depth + 1 + i) * step_x + (y * step_y + z * step_z) * SIDE, high * (SIDE + 1)
            if j % 2 == 0:
                slot += far * step_y + k * step_z
                there = (y < bricks_y - 1 or bricks.high_y != 0) if high else (y > 0 or bricks.low_y != 0)
            else:
                slot += k * step_y + far * step_z
                there = (z < bricks_z - 1 or bricks.high_z != 0) if high else (z > 0 or bricks.low_z != 0)
            return slot if there and n < 2 * side else 0

        return point

    def show_at(j: int) -> Any:
        def point(rim, tile):
            n = cuda.threadIdx.x + j // 2 * THREADS
            far, i, k = n // side * (SIDE + 1), n % side // SIDE, n % SIDE + 1
            if n < 2 * side and j % 2 == 0:
                tile[i, far, k] = rim[j + 2]
            if n < 2 * side and j % 2 == 1:
                tile[i, k, far] = rim[j + 2]
            return 0

        return point

    n = 2 * -(-2 * side // THREADS)
    slots_of_sides = each(slot_at, n)

    def slots(bricks, c, x, y, z):
        low = c.slot - step_x if x > 0 or bricks.low_x != 0 else 0
        high = c.slot + depth * step_x if x < bricks_x - 1 or bricks.high_x != 0 else 0
        return (low, high) + slots_of_sides(bricks, x, y, z)

    return slots, each(show_at, n), n + 2


@cache
def steps_of(shape: Shape) -> Any:
    """(``give``, ``take``, ``applied``, ``spread``) of a vector v of a thread.

    give(ctx, v, number, here): what neighbours need of it in exchange ``number``;  take(ctx, number, here): its rim
    applied(v, rim, here): A v;  spread(ctx, v, number, here): the same, rim taken
    """
    half_bytes = shape.image[0] * shape.steps[0]
    _, _, give_all, show_all, apply_all, _ = vectors_of(shape)
    _, show_rim, n_rim = rim_of(shape)
    real_rim, halved = each(as_real, n_rim), each(in_half, n_rim)

    def give(ctx, v, number, here):
        give_all(v, (number & 1) * half_bytes, marked(ctx, number), here.column)
        all_sent()

    def take(ctx, number, here):
        return real_rim(take_numbers(ctx, halved(here.slots, (number & 1) * half_bytes), number, here.me))

    def applied(v, rim, here):
        show_all(v, here.tile, here.column)
        show_rim(rim, here.tile)
        sync()
        return apply_all(here.part, (rim[0],) + v + (rim[1],), here.tile, here.column)

    def spread(ctx, v, number, here):
        return applied(v, take(ctx, number, here), here)

    return give, take, applied, spread


@cache
def cg_of(shape: Shape) -> Any:
    """``run``: the iterations, to the bits of loop.py."""
    (give, take, applied, _), bins_of = steps_of(shape), vectors_of(shape)[-1]
    plus, plus_rim = each(added, shape.depth), each(added, rim_of(shape)[-1])

    def run(ctx, s: Scalars, most, sums: Sums, v: Vectors, here: Here):
        (u, r, p), (place, epoch, number, rr, pap) = v, sums
        now, before, k = read_sum(rr), read_sum(rr - WORDS_BYTES), 0
        give(ctx, p, number + 1, here)
        rim_p = take(ctx, number + 1, here)
        sync()
        give(ctx, r, number + 2, here)
        rim, number = take(ctx, number + 2, here), number + 2
        sync()
        while k < most:
            beta = real(ratio(now, before))
            p, rim_p = plus(r, beta, p), plus_rim(rim, beta, rim_p)
            q = applied(p, rim_p, here)
            give_sums(ctx, place, epoch + 1, (bins_of(p, q),))
            pap = take_sums(ctx, place, epoch + 1, rr + (k + 1) * WORDS_BYTES if block() == 0 else 0)[0]
            alpha = ratio(now, pap)
            r, number = plus(r, real(-alpha), q), number + 1
            give(ctx, r, number, here)
            u = plus(u, real(alpha), p)
            give_sums(ctx, place, epoch + 2, (bins_of(r, r),))
            rim = take(ctx, number, here)
            k, epoch, before = k + 1, epoch + 2, now
            now = take_sums(ctx, place, epoch, rr + k * WORDS_BYTES if block() == 0 else 0)[0]
            if not now > s.below:
                break
        return k, number, pap, Vectors(u, r, p)

    return run


@cache
def one_sum_of(shape: Shape, pipelined: bool) -> Any:
    """``run``: the iterations by one sum of two values each, r * r and r * A r."""
    (give, _, _, spread), bins_of, plus = steps_of(shape), vectors_of(shape)[-1], each(added, shape.depth)

    def run(ctx, scalars: Scalars, most, sums: Sums, v: Vectors, here: Here):
        (u, r, p), (place, epoch, number, rr, pap) = v, sums
        before, k = read_sum(rr - WORDS_BYTES), 0
        give(ctx, p, number + 1, here)
        s = spread(ctx, p, number + 1, here)
        sync()
        give(ctx, r, number + 2, here)
        w, number = spread(ctx, r, number + 2, here), number + 2
        sync()
        z = s
        if pipelined:
            give(ctx, s, number + 1, here)
            z = spread(ctx, s, number + 1, here)
            sync()
            give(ctx, w, number + 2, here)
            number += 2
        q = w
        while True:
            epoch += 1
            give_sums(ctx, place, epoch, (bins_of(r, r), bins_of(w, r)))
            if pipelined:
                q = spread(ctx, w, number, here)
            now, delta = take_sums(ctx, place, epoch, rr + k * WORDS_BYTES if block() == 0 else 0)
            if k == most or (k > 0 and not now > scalars.below):
                break
            beta = ratio(now, before)
            pap = delta - beta * beta * pap
            alpha, by = real(ratio(now, pap)), real(beta)
            k, before, number = k + 1, now, number + 1
            s = plus(w, by, s)
            if pipelined:
                z = plus(q, by, z)
                w = plus(w, -alpha, z)
                give(ctx, w, number, here)
            p, r = plus(r, by, p), plus(r, -alpha, s)
            if not pipelined:
                give(ctx, r, number, here)
            u = plus(u, alpha, p)
            if not pipelined:
                w = spread(ctx, r, number, here)
        return k, number, pap, Vectors(u, r, p)

    return run


@cache
def on_chip_of(shape: Shape, method: str) -> Any:
    """The kernel."""
    (_, bricks_y, bricks_z), tile_shape, dtype = shape.bricks, (shape.depth, SIDE + 2, SIDE + 2), shape.dtype
    load_all, store_all, *_ = vectors_of(shape)
    column_at, slots_of, several, n_sums = column_of(shape), rim_of(shape)[0], shape.several, VALUES[method]
    run = cg_of(shape) if method == "cg" else one_sum_of(shape, method == "pipelined")

    def on_chip(ctx, part: Part, scalars: Scalars, most, bricks: Bricks, barrier: GridBarrier):
        """At most ``most`` iterations.  All blocks run at the same time."""
        x, y, z = block() // (bricks_y * bricks_z), block() // bricks_z % bricks_y, block() % bricks_z
        column, tile = column_at(part, bricks, x, y, z), cuda.shared.array(tile_shape, dtype)
        here = Here(part, column, slots_of(bricks, column, x, y, z), tile, barrier.me)
        place = GridBarrier(barrier.me, barrier.n_pes if several else 1, n_sums, barrier.memory)
        number, rr = read_epoch(bricks.number, 0), scalars.history + (read_epoch(scalars.runs, 0) + 1) * WORDS_BYTES
        sums = Sums(place, last_grid_barrier(place), number, rr, 1.0 * load(bricks.pap, 0))
        u, r, p = load_all(bricks.u, part, column), load_all(bricks.r, part, column), load_all(bricks.p, part, column)
        k, last, pap, (u, r, p) = run(ctx, scalars, most, sums, Vectors(u, r, p), here)
        store_all(bricks.u, part, column, u)
        store_all(bricks.r, part, column, r)
        store_all(bricks.p, part, column, p)
        if block() == 0 and is_leader():
            store(bricks.pap, 0, real(pap))
            add_shared(scalars.runs, 0, k)
            add_shared(bricks.number, 0, last - number)

    return on_chip
