"""Exchanges of the points at the sides of bricks, as packets; see ``on_chip_kernel.py``."""

from functools import cache
from typing import Any

from pennympi.kernels.block import all_sent, marked, product, read_epoch, real, send_number, take_numbers

from .brick import repeated, rim_point_of, thread_of, vector_of
from .on_chip import HEIGHT, PACKET_BYTES, SIDES, Shape
from .shared import shared


@cache
def give_of(shape: Shape) -> Any:
    """``give(ctx, v, number, c)``: send what the neighbours need of a vector in exchange ``number``."""
    depth, width, half_bytes, thread = shape.depth, shape.width, shape.half_bytes, thread_of(shape)
    get, _ = vector_of(shape)

    def address_at(c, side, n, half):
        to = read_epoch(c.table, side)
        return to + half + n * PACKET_BYTES if to != 0 else 0

    def give_point(k, none, v, number, low, high, over_y, over_z):
        x = 1.0 * get(v, k)
        if k == 0 and low != 0:
            send_number(low, x, number)
        if k == depth - 1 and high != 0:
            send_number(high, x, number)
        if over_y != 0:
            send_number(over_y + k * width * PACKET_BYTES, x, number)
        if over_z != 0:
            send_number(over_z + k * HEIGHT * PACKET_BYTES, x, number)
        return none

    give_points = repeated(give_point, depth)

    def give(ctx, v, number, c):
        half, over_y, over_z = (number & 1) * half_bytes, 0, 0
        low, high = address_at(c, 0, thread(), half), address_at(c, 1, thread(), half)
        if c.y == 0 or c.y == HEIGHT - 1:
            over_y = address_at(c, 2 if c.y == 0 else 3, c.z, half)
        if c.z == 0 or c.z == width - 1:
            over_z = address_at(c, 4 if c.z == 0 else 5, c.y, half)
        give_points(0, 0, v, marked(ctx, number), low, high, over_y, over_z)
        all_sent()

    return give


@cache
def take_of(shape: Shape) -> Any:
    """``take(ctx, number, by, c)``: the rim in shared memory = what comes in exchange ``number`` + by * the rim."""
    threads, half_bytes, n_rim = shape.threads, shape.half_bytes, shape.firsts[SIDES]
    (read, write), thread, rim_point = shared(shape.dtype), thread_of(shape), rim_point_of(shape)

    def slot(j, c, half):
        return c.slots + half + j * threads * PACKET_BYTES if (c.there >> j) & 1 else 0

    def set_point(j, x, by):
        n = thread() + j * threads
        _, at = rim_point(n)
        if n < n_rim:
            write(at, real(x) + product(by, read(at)))

    def take_four(group, none, ctx, number, by, c):
        j, half = 4 * group, (number & 1) * half_bytes
        slots = slot(j, c, half), slot(j + 1, c, half), slot(j + 2, c, half), slot(j + 3, c, half)
        first, second, third, fourth = take_numbers(ctx, slots, number, read_epoch(c.table, SIDES))
        set_point(j, first, by)
        set_point(j + 1, second, by)
        set_point(j + 2, third, by)
        set_point(j + 3, fourth, by)
        return none

    fours = repeated(take_four, -(-shape.slots // 4))

    def take(ctx, number, by, c):
        fours(0, 0, ctx, number, by, c)

    return take
