"""Sweeps with the field in shared memory from the first to the last: one launch does them all.

A block keeps a brick of the grid and a rim of ``depth`` cells around it (``grid/sweep/bricks.py``).  By turns it
exchanges the rims with the blocks beside it (``inbox.py``), without a barrier of the grid, and sweeps ``depth`` times
over all its cells.  Each sweep spoils one more layer of the rim.  Cells that are not live, the fixed values, stay.

A sweep overwrites the field, plane by plane: a thread holds 16 bytes of the plane before (as it was), of this one and of
the next one in registers.
- In three dimensions all threads of the block lie over a plane.  The new values of a plane are stored after a barrier,
  when all have read what they need of it: a barrier a plane.
- In two dimensions a plane is a row of one warp, and each warp goes down a chunk of the rows.  It has read the rows
  beside its chunk before any warp begins, and neighbours in a row come by shuffles: two barriers a sweep.
- In one dimension the same, with the points in rows of one warp: a row's ends have their neighbours in the rows beside.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from numba import cuda

from ...kernels.block import Elements, Words, block, real
from ...kernels.sweep.formula import Stencil, numbers_of
from ...kernels.sweep.norm import LEVEL_BYTES, Squares, no_squares
from ...kernels.sweep.records import SweepFields
from ..intrinsics import load_word, store_word
from ..primitives import GAVE_UP
from .brick_cells import AXIS_WORDS, axis_at, movers
from .brick_planes import lanes_of, sweeper
from .inbox import Inbox, exchanger
from .norm import add_squares_of_warp, total_of_warp
from .shared import load_number, shared_start, store_number
from .warp import LANES

BLOCK_WORDS = 3 * AXIS_WORDS + 6  # of a block: those of its axes, then those of ``Inbox`` but for the first two
INBOX = 8 * 3 * AXIS_WORDS  # where the latter begin
KEPT_BYTES = 32  # of a warp's part of the norm in shared memory
NORM_BYTES = 2 * 32 * KEPT_BYTES  # two sets, used by even and odd sweeps


class Bricks(NamedTuple):
    """A launch.

    bricks:  address of (blocks, BLOCK_WORDS) words;  counts: of (blocks,) words, the number of each block's last exchange
    inboxes: address of (2, blocks, inbox_bytes);  half_bytes: of all blocks' inboxes
    sweeps, depth: in all, and from one exchange to the next
    row_bytes, plane_bytes: from a cell to the next one in shared memory
    chunk:   planes that a warp goes down, of a grid of one or two dimensions
    coefficient: bytes from the cells to their coefficients;  kept: to the norm's words
    """

    bricks: int
    counts: int
    inboxes: int
    inbox_bytes: int
    half_bytes: int
    sweeps: int
    depth: int
    row_bytes: int
    plane_bytes: int
    chunk: int
    coefficient: int
    kept: int


def _keep(kept, squares):
    """Leave what this warp holds in shared memory: its lanes have one window."""
    a, b, c = total_of_warp(squares.a), total_of_warp(squares.b), total_of_warp(squares.c)
    if cuda.laneid == 0:
        at = kept + KEPT_BYTES * (cuda.threadIdx.x // LANES)
        store_number(at, squares.scale)
        store_number(at + 8, a)
        store_number(at + 16, b)
        store_number(at + 24, c)


def _add_kept(kept, words):
    """The last warp adds what all warps have left to the words of a sweep."""
    warps = cuda.blockDim.x // LANES
    if cuda.threadIdx.x // LANES == warps - 1:
        squares, lane = no_squares(), cuda.laneid
        if lane < warps:
            at = kept + KEPT_BYTES * lane
            scale = load_number(at, real(0.0))
            squares = Squares(scale, load_number(at + 8, 0), load_number(at + 16, 0), load_number(at + 24, 0))
        add_squares_of_warp(words, squares)


@cache
def brick_kernel(stencil: Stencil, norms: str, whole: bool) -> Callable[..., None]:
    """The kernel (ctx, fields, bricks, values, words) of a stencil.  whole: no row of a PE begins or ends within 16 bytes

    fields: ``new`` gets the result of all sweeps of ``old``; plane and row are those of the axes
    values: address of the formula's numbers;  words: as of a pass (compile/pass_kernel.py)
    """
    has_coefficient, read_numbers, exchange_cells = (
        stencil.has_coefficient,
        numbers_of(stencil),
        exchanger(8 // stencil.item_bytes),
    )
    (load_cells, store_cells), lane_of, sweep = movers(stencil), lanes_of(stencil, whole), sweeper(stencil, whole)
    some_norm, every_norm = norms != "none", norms == "every"

    def exchange(ctx, words, bricks, cells, number, gone):
        """Give and take the rims of the cells at an address; whether the block has given up."""
        every = bricks.inboxes + (number & 1) * bricks.half_bytes
        inbox = Inbox(
            every + block() * bricks.inbox_bytes,
            every,
            load_word(words),
            load_word(words + 8),
            load_word(words + 16),
            load_word(words + 24),
            load_word(words + 32),
            load_word(words + 40),
        )
        return cuda.syncthreads_or(1 if exchange_cells(ctx, inbox, cells, number, gone, real(0.0)) else 0) != 0

    def kernel(ctx: int, fields: SweepFields, bricks: Bricks, values: Elements, words: Words):
        mine, count, cells = bricks.bricks + 8 * BLOCK_WORDS * block(), bricks.counts + 8 * block(), shared_start()
        x, y, z = axis_at(mine, 0), axis_at(mine, 1), axis_at(mine, 2)
        lane, numbers = lane_of(bricks, cells, x, y, z), read_numbers(values)
        number, gone = load_word(count), load_word(ctx + GAVE_UP) != 0
        load_cells(fields.old, fields, cells, bricks, x, y, z)
        if has_coefficient:
            load_cells(fields.coefficient, fields, cells + bricks.coefficient, bricks, x, y, z)
            cuda.syncthreads()
            number += 1
            gone = exchange(ctx, mine + INBOX, bricks, cells + bricks.coefficient, number, gone)
        cuda.syncthreads()
        done = 0
        while done < bricks.sweeps:
            number += 1
            gone = exchange(ctx, mine + INBOX, bricks, cells, number, gone)
            stop = min(done + bricks.depth, bricks.sweeps)
            while done < stop:
                done += 1
                counts = every_norm or (some_norm and done == bricks.sweeps)
                squares = sweep(lane, bricks, x, z, numbers, counts)
                kept = cells + bricks.kept + NORM_BYTES // 2 * (done & 1)
                if counts:
                    _keep(kept, squares)
                cuda.syncthreads()
                if counts:
                    _add_kept(kept, words)
                    words += LEVEL_BYTES
        store_cells(fields.new, fields, cells, bricks, x, y, z)
        if cuda.threadIdx.x == 0:
            store_word(count, number)

    return kernel


def most_shared_bytes() -> int:
    """Of a block, on this device."""
    from cuda.bindings import driver  # needs a driver, which is not there when kernels are only compiled

    attribute = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    device = driver.cuCtxGetDevice()[1]
    return int(driver.cuDeviceGetAttribute(attribute, device)[1])
