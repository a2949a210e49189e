"""A block's brick of the part, of which a thread has a column along x; see ``on_chip_kernel.py``."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from pennympi.cuda.gpu import cuda
from pennympi.kernels.block import block, read_epoch

from .on_chip import HEIGHT, PACKET_BYTES, TABLE_BYTES, Shape
from .points import stencil
from .shared import shared


class Column(NamedTuple):
    """A thread's points.

    at:    of the first one, in elements from the start of a field;  own: how many are own ones
    tile:  of the first one, in shared memory;  y, z: in the brick
    slots: address of the first packet that this thread takes;  there: a bit for each of its packets that comes
    table: address of the brick's row of ``Bricks.sides``
    """

    at: int
    own: int
    tile: int
    y: int
    z: int
    slots: int
    there: int
    table: int


def repeated(step: Callable[..., Any], n: int) -> Any:
    """``run(first, state, *args)``: state = step(k, state, *args) for n numbers k from first on, without a loop.

    Only so can a vector be an array in registers, which have no index.
    """
    if n == 1:
        return step
    middle = n - n // 2
    left, right = repeated(step, middle), repeated(step, n // 2)

    def run(first, state, *args):
        return right(first + middle, left(first, state, *args), *args)

    return run


@cache
def thread_of(shape: Shape) -> Any:
    """``thread()``: its number, in a form by which the compiler knows the range."""
    last = shape.threads - 1

    def thread():
        return cuda.threadIdx.x & last

    return thread


@cache
def rim_point_of(shape: Shape) -> Any:
    """``rim_point(n)``: (side, place in shared memory) of a point of the rim."""
    _, _, first_y, high_y, first_z, high_z, _ = shape.firsts
    depth, width, threads, plane = shape.depth, shape.width, shape.threads, shape.plane
    side_y, side_z, pitch = high_y - first_y, high_z - first_z, shape.pitch

    def rim_point(n):
        side, x, y, z = n // threads, n // threads * (depth + 1), n % threads // width + 1, n % width + 1
        if n >= first_z:
            m = n - first_z
            side, x, y, z = 4 + m // side_z, m % side_z // HEIGHT + 1, m % HEIGHT + 1, m // side_z * (width + 1)
        elif n >= first_y:
            m = n - first_y
            side, x, y, z = 2 + m // side_y, m % side_y // width + 1, m // side_y * (HEIGHT + 1), m % width + 1
        return side, x * plane + y * pitch + z

    return rim_point


@cache
def column_of(shape: Shape) -> Any:
    """``column(part, bricks)`` of a thread."""
    (_, bricks_y, bricks_z), (nx, ny, nz), n_rim = shape.bricks, shape.own, shape.firsts[-1]
    depth, width, threads, stride = shape.depth, shape.width, shape.threads, shape.stride
    plane, pitch, thread, rim_point = shape.plane, shape.pitch, thread_of(shape), rim_point_of(shape)

    def add_slot(j, there, table):
        n = thread() + j * threads
        side, _ = rim_point(n)
        return there | (1 << j) if n < n_rim and read_epoch(table, side) != 0 else there

    slots_there = repeated(add_slot, shape.slots)

    def column(part, bricks):
        x, y, z = block() // (bricks_y * bricks_z), block() // bricks_z % bricks_y, block() % bricks_z
        own_y, own_z, table = thread() // width, thread() % width, bricks.sides + block() * TABLE_BYTES
        j, k = y * HEIGHT + own_y, z * width + own_z
        at = part.first + x * depth * stride + j * part.row + k
        own = nx - x * depth if j < ny and k < nz else 0
        slots = bricks.inbox + (block() * n_rim + thread()) * PACKET_BYTES
        tile = plane + (own_y + 1) * pitch + own_z + 1
        return Column(at, own, tile, own_y, own_z, slots, slots_there(0, 0, table), table)

    return column


@cache
def vector_of(shape: Shape) -> Any:
    """(``get(v, k)``, ``put(v, k, x)``): point k of a vector, which lies in shared memory and, from there on, in v."""
    kept, threads, tile, thread = shape.kept, shape.threads, shape.tile, thread_of(shape)
    read, write = shared(shape.dtype)

    def get(v, k):
        return v[k - kept] if k >= kept else read(tile + k * threads + thread())

    def put(v, k, x):
        if k >= kept:
            v[k - kept] = x
        else:
            write(tile + k * threads + thread(), x)

    return get, put


def over(shape: Shape, use: Any) -> Any:
    """``run(state, part, c, *args)``: state = use(k, state, q, here, c, *args) for each point k of a column.

    q: A here, where here lies in shared memory
    """
    plane, pitch = shape.plane, shape.pitch
    read, _ = shared(shape.dtype)

    def step(k, state, part, c, *args):
        used, before, here = state
        at = c.tile + k * plane
        after = read(at + plane)
        y, z = read(at - pitch) + read(at + pitch), read(at - 1) + read(at + 1)
        return use(k, used, stencil(part, here, before + after, y, z), here, c, *args), here, after

    steps = repeated(step, shape.depth)

    def run(state, part, c, *args):
        return steps(0, (state, read(c.tile - plane), read(c.tile)), part, c, *args)[0]

    return run
