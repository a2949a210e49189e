"""All iterations in one kernel, whose blocks keep every vector on chip: a block has a brick of the part.

A thread has a column of the brick along x, of all vectors, in registers.  The direction p lies in shared memory too, with
a rim of one point.  What a neighbour's rim needs of r goes as packets while the sum r * r is under way: each block
computes the p of its rim from its r, so that p itself never travels.  The image holds a packet for each point of the
bricks and beyond them, twice, used by turns: who sends r for the next time but one has r of all neighbours for the next
time, which they sent when they had all of this one.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from numba import cuda

from pennympi.kernels.block import Words, add_shared, block, first, load, marked, product, read_epoch, real, send_number, store, sync, take_numbers
from pennympi.kernels.in_kernel import WORDS_BYTES, Meeting, add_to_bins, give_sum, last_meeting, no_bins, read_sum, take_sums

from .points import stencil
from .records import PAP, Part, Scalars

SIDE, SLOT_BYTES = 16, 16  # points of a brick along y, and along z;  bytes of a packet
THREADS = SIDE * SIDE


class Shape(NamedTuple):
    """How a part is cut into bricks of depth * SIDE * SIDE points.

    own: points of the part, by dimension;  bricks: their number;  dtype: of the fields
    """

    own: tuple[int, int, int]
    bricks: tuple[int, int, int]
    depth: int
    dtype: str

    @property
    def image(self) -> tuple[int, int, int]:
        """Slots of half of the image."""
        x, y, z = self.bricks
        return x * self.depth + 2, y * SIDE + 2, z * SIDE + 2


class Bricks(NamedTuple):
    """What a launch needs beside the fields.

    image:   symmetric, address of (2, *Shape.image) slots of 16 bytes, zero once;  numbers: (1,), of the last exchange
    low_x to high_z: what to add to the address of an own slot at a side for that in the neighbour's image; 0: no neighbour
    """

    image: int
    numbers: Words
    low_x: int
    high_x: int
    low_y: int
    high_y: int
    low_z: int
    high_z: int


class Fields(NamedTuple):
    """Addresses of u, r and the last direction."""

    u: int
    r: int
    p: int


class Place(NamedTuple):
    """A thread's column.

    at: elements from the start of a field to its first point;  own: how many of its points are own ones
    slot: address of the first one's slot in the first half of the image;  edge: whether it is at a side along y or z
    low_x to z: as in ``Bricks``, 0 where it is not at that side of the part;  y, z: in the brick
    """

    at: int
    own: int
    slot: int
    edge: bool
    low_x: int
    high_x: int
    over_y: int
    over_z: int
    y: int
    z: int


def each(point: Callable[[int], Any], n: int) -> Any:
    """``row(*args)``: the tuple of point(k)(*args) for k = 0, .., n - 1: loops over tuples are not unrolled."""

    def only(one: Any) -> Any:
        def row(*args):
            return (one(*args),)

        return row

    def longer(shorter: Any, one: Any) -> Any:
        def row(*args):
            return shorter(*args) + (one(*args),)

        return row

    row = only(point(0))
    for k in range(1, n):
        row = longer(row, point(k))
    return row


def added(k: int) -> Any:
    """Of ``each``: v + by * w."""

    def point(v, by, w):
        return v[k] + product(by, w[k])

    return point


@cache
def vectors_of(shape: Shape) -> Any:
    """(loads, stores, gives, applies, bins) of a column."""
    depth, whole = shape.depth, all(n % d == 0 for n, d in zip(shape.own, (shape.depth, SIDE, SIDE), strict=True))
    plane_bytes = shape.image[1] * shape.image[2] * SLOT_BYTES

    def load_at(i: int) -> Any:
        def point(field, part, at, own):
            return load(field, at + i * part.plane) if i < own else real(0.0)

        return point

    def store_at(i: int) -> Any:
        def point(field, part, at, own, v):
            if i < own:
                store(field, at + i * part.plane, v[i])
            return 0

        return point

    def give_at(i: int) -> Any:
        low, high = i == 0, i == depth - 1

        def point(v, slot, number, at):
            to, x = slot + i * plane_bytes, 1.0 * v[i]
            if low or high or at.edge:
                send_number(to, x, number)
            if low and at.low_x != 0:
                send_number(to + at.low_x, x, number)
            if high and at.high_x != 0:
                send_number(to + at.high_x, x, number)
            if at.over_y != 0:
                send_number(to + at.over_y, x, number)
            if at.over_z != 0:
                send_number(to + at.over_z, x, number)
            return 0

        return point

    def show_at(i: int) -> Any:
        def point(v, tile, at):
            tile[i, at.y + 1, at.z + 1] = v[i]
            return 0

        return point

    def apply_at(i: int) -> Any:
        def point(part, v, tile, at):
            y = tile[i, at.y, at.z + 1] + tile[i, at.y + 2, at.z + 1]
            z = tile[i, at.y + 1, at.z] + tile[i, at.y + 1, at.z + 2]
            q = stencil(part, v[i + 1], v[i] + v[i + 2], y, z)
            return q if whole or i < at.own else real(0.0)

        return point

    def bin_at(i: int, before: Any) -> Any:
        def last(bins, v, w):
            return add_to_bins(before(bins, v, w) if i else bins, (1.0 * v[i]) * (1.0 * w[i]))

        return last

    bins: Any = no_bins
    for i in range(depth):
        bins = bin_at(i, bins) if i else first_bin
    return (*(each(one, depth) for one in (load_at, store_at, give_at, show_at, apply_at)), bins)


def first_bin(bins, v, w):
    """The bins with the product of the first points."""
    return add_to_bins(bins, (1.0 * v[0]) * (1.0 * w[0]))


@cache
def rim_of(shape: Shape) -> Any:
    """(slots, show): the slots of the rim's points that a thread takes, and how they come to the tile."""
    depth, (_, rows, pitch) = shape.depth, shape.image
    plane_bytes, row_bytes = rows * pitch * SLOT_BYTES, pitch * SLOT_BYTES
    bricks_x, bricks_y, bricks_z = shape.bricks
    half = depth * SIDE  # points of a side

    def cell_at(j: int) -> Any:
        def point(bricks, x, y, z):
            """The slot of point number c of the sides along y and z; x, y, z: the brick's number."""
            c = cuda.threadIdx.x + j // 2 * THREADS
            high, i, k = c // half, c % half // SIDE, c % SIDE
            corner = bricks.image + (x * depth + 1 + i) * plane_bytes + y * (SIDE * row_bytes) + z * (SIDE * SLOT_BYTES)
            far = high * (SIDE + 1)
            if j % 2 == 0:
                there = (y < bricks_y - 1 or bricks.high_y != 0) if high else (y > 0 or bricks.low_y != 0)
                slot = corner + far * row_bytes + (k + 1) * SLOT_BYTES
            else:
                there = (z < bricks_z - 1 or bricks.high_z != 0) if high else (z > 0 or bricks.low_z != 0)
                slot = corner + (k + 1) * row_bytes + far * SLOT_BYTES
            return slot if there and c < 2 * half else 0

        return point

    def show_at(j: int) -> Any:
        def point(rim, tile):
            c = cuda.threadIdx.x + j // 2 * THREADS
            far, i, k = c // half * (SIDE + 1), c % half // SIDE, c % SIDE
            if c < 2 * half:
                if j % 2 == 0:
                    tile[i, far, k + 1] = rim[j + 2]
                else:
                    tile[i, k + 1, far] = rim[j + 2]
            return 0

        return point

    n = 2 * -(-2 * half // THREADS)
    cells, show = each(cell_at, n), each(show_at, n)

    def slots_of(bricks, at, x, y, z):
        low = at.slot - plane_bytes if x > 0 or bricks.low_x != 0 else 0
        high = at.slot + depth * plane_bytes if x < bricks_x - 1 or bricks.high_x != 0 else 0
        return (low, high) + cells(bricks, x, y, z)

    return slots_of, show, each(added, n + 2)


@cache
def place_of(shape: Shape) -> Any:
    """``place(part, bricks, x, y, z)`` of a thread of a brick."""
    depth, (_, rows, pitch), (nx, ny, nz) = shape.depth, shape.image, shape.own
    bricks_x, bricks_y, bricks_z = shape.bricks

    def place(part, bricks, x, y, z):
        own_y, own_z = cuda.threadIdx.x // SIDE, cuda.threadIdx.x % SIDE
        row, column = y * SIDE + own_y, z * SIDE + own_z
        at = part.first + x * depth * part.plane + row * part.row + column
        slot = bricks.image + (((x * depth + 1) * rows + row + 1) * pitch + column + 1) * SLOT_BYTES
        own = nx - x * depth if row < ny and column < nz else 0
        edge = own_y == 0 or own_y == SIDE - 1 or own_z == 0 or own_z == SIDE - 1
        low_x, high_x = bricks.low_x if x == 0 else 0, bricks.high_x if x == bricks_x - 1 else 0
        over_y = bricks.low_y if row == 0 else bricks.high_y if row == bricks_y * SIDE - 1 else 0
        over_z = bricks.low_z if column == 0 else bricks.high_z if column == bricks_z * SIDE - 1 else 0
        return Place(at, own, slot, edge, low_x, high_x, over_y, over_z, own_y, own_z)

    return place


@cache
def solve_of(shape: Shape) -> Any:
    """The kernel."""
    depth, dtype, (bricks_x, bricks_y, bricks_z) = shape.depth, shape.dtype, shape.bricks
    rows, half_bytes = shape.image, shape.image[0] * shape.image[1] * shape.image[2] * SLOT_BYTES
    load_all, store_all, give_all, show_all, apply_all, bins_of = vectors_of(shape)
    slots_of, show_rim, rim_added = rim_of(shape)
    place, plus = place_of(shape), each(added, depth)
    tile_shape = depth, SIDE + 2, SIDE + 2
    n_rim = 2 + 2 * -(-2 * depth * SIDE // THREADS)
    real_rim = each(lambda k: real_at(k), n_rim)
    shifted = each(lambda k: shifted_at(k), n_rim)

    def on_chip(ctx, part: Part, fields: Fields, scalars: Scalars, most, bricks: Bricks, meeting: Meeting):
        """At most ``most`` iterations.  All blocks run at the same time."""
        b = block()
        x, y, z = b // (bricks_y * bricks_z), b // bricks_z % bricks_y, b % bricks_z
        at = place(part, bricks, x, y, z)
        slots = slots_of(bricks, at, x, y, z)
        tile = cuda.shared.array(tile_shape, dtype)
        number, epoch, begin = read_epoch(bricks.numbers, 0), last_meeting(meeting), read_epoch(scalars.runs, 0)
        rr = scalars.history + (begin + 1) * WORDS_BYTES
        now, before = read_sum(rr), read_sum(rr - WORDS_BYTES)
        u, r, p = (
            load_all(fields.u, part, at.at, at.own),
            load_all(fields.r, part, at.at, at.own),
            load_all(fields.p, part, at.at, at.own),
        )
        beta = now / before if before > 0.0 else 0.0
        number += 1
        half = (number & 1) * half_bytes
        give_all(p, at.slot + half, marked(ctx, number), at)
        rim_p = real_rim(take_numbers(ctx, shifted(slots, half), number, meeting.me))
        sync()
        number += 1
        half = (number & 1) * half_bytes
        give_all(r, at.slot + half, marked(ctx, number), at)
        rim_r = real_rim(take_numbers(ctx, shifted(slots, half), number, meeting.me))
        sync()
        k = 0
        while k < most:
            p, rim_p = plus(r, real(beta), p), rim_added(rim_r, real(beta), rim_p)
            show_all(p, tile, at)
            show_rim(rim_p, tile)
            sync()
            q = apply_all(part, (rim_p[0],) + p + (rim_p[1],), tile, at)
            give_sum(ctx, meeting, epoch + 1, 0, bins_of(no_bins(), p, q))
            pap = take_sums(ctx, meeting, epoch + 1, scalars.words + PAP if b == 0 else 0)[0]
            alpha = now / pap if pap > 0.0 else 0.0
            r = plus(r, real(-alpha), q)
            number += 1
            half = (number & 1) * half_bytes
            give_all(r, at.slot + half, marked(ctx, number), at)
            u = plus(u, real(alpha), p)
            give_sum(ctx, meeting, epoch + 2, 0, bins_of(no_bins(), r, r))
            rim_r = real_rim(take_numbers(ctx, shifted(slots, half), number, meeting.me))
            k, epoch, before = k + 1, epoch + 2, now
            keep = scalars.history + (begin + k + 1) * WORDS_BYTES if b == 0 else 0
            now = take_sums(ctx, meeting, epoch, keep)[0]
            beta = now / before if before > 0.0 else 0.0
            if not now > scalars.below:
                break
        store_all(fields.u, part, at.at, at.own, u)
        store_all(fields.r, part, at.at, at.own, r)
        store_all(fields.p, part, at.at, at.own, p)
        if b == 0 and first():
            add_shared(scalars.runs, 0, k)
            add_shared(bricks.numbers, 0, k + 2)

    return on_chip


def real_at(k: int) -> Any:
    """Of ``each``: as the kernel's dtype."""

    def point(v):
        return real(v[k])

    return point


def shifted_at(k: int) -> Any:
    """Of ``each``: a slot in a half of the image."""

    def point(slots, half):
        return slots[k] + half if slots[k] != 0 else 0

    return point
