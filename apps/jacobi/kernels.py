"""The formula, and the kernel of the variants that do one sweep at a time.

A block of threads sweeps a tile of COLUMNS columns, ROWS rows at a time.  A thread of a GPU has VECTOR adjacent
columns, which it loads and stores together.  All its loads come before its stores, so they are in flight together.
"""

from pennympi.kernels.block import (
    Static,
    block,
    lanes,
    load,
    product,
    read_epoch,
    real,
    single_thread,
    store,
    sync,
    write_epoch,
)
from pennympi.kernels.sweep.norm import no_squares
from pennympi.kernels.sweep.norm_of_rows import SweptRows, add_rows, add_squares_of_block, squares_before

from .loop_kernels import Turn, decide, runs
from .loop_words import loop_at
from .tiles import Band, Neighbours, await_halo, put_edge, tile

THREADS = 256  # threads of a block
ROWS, VECTOR, VECTOR_BYTES = 4, 4, 16  # rows and columns that a thread has at a time; bytes that it loads together


def relaxed(u, above, below, left, right):
    """A point's new value.  The order of the additions is that of NVIDIA's sample, and decides the last bits."""
    return product(real(0.25), ((right + left) + below) + above)


def sweep(item_bytes: Static[int], ctx, band: Band, neighbours: Neighbours, turn: Turn):
    """The kernel of a sweep of a band, and of the exchange of its edge rows.

    item_bytes: bytes of an element
    A thread may also read and write columns after the last one: the fixed column and zeros, equal in both fields.
    """
    words, number, epoch = turn.words, block(), 0
    if turn.state != 0:  # all loads come first, so that they are in flight together
        loop = loop_at(turn.state)
        does_run, k = runs(turn), read_epoch(loop.before, 0) + turn.number
        due, epoch = read_epoch(loop.due, turn.number), read_epoch(loop.epoch, 0) + k
        if turn.decides != 0 and number == 0:
            decide(turn)
            if does_run:
                write_epoch(loop.ran, 0, k + 1)
        number = number - turn.decides
        if number < 0 or not does_run:
            return
        words = words if due != 0 else 0
    top, stop, left, right = tile(band, number)
    is_edge = neighbours.signals != 0 and (top == 1 or top == band.rows)
    if is_edge:
        await_halo(ctx, band, neighbours, epoch, top, left)
    squares = no_squares() if words == 0 else squares_before(words)
    for row in range(top, stop, ROWS):
        n, offset = min(ROWS, stop - row), row * band.pitch + left * band.item_bytes
        sweep_rows(band, row, n, left, right)
        if is_edge:
            sync()
            put_edge(ctx, band, neighbours, epoch + 1, top, left, right)
        if words != 0:
            sync()
            rows = SweptRows(band.new + offset, band.old + offset, band.pitch, n, right - left)
            squares = add_rows(item_bytes, squares, rows)
    if words != 0:
        add_squares_of_block(words, squares)


def sweep_rows(band: Band, top, n, left, right):
    """Sweep the columns left .. right - 1 of n rows from row ``top`` on.  n: at most ROWS"""
    pitch, width = band.pitch, 1 if single_thread() else VECTOR  # on a CPU the compiler vectorises the loop over lanes
    for k in lanes(0, (right - left + width - 1) // width):
        x, first = (left, k) if single_thread() else (left + k * VECTOR, 0)
        offset = top * pitch + x * band.item_bytes
        old = band.old + offset
        a, b, c = aligned(old - pitch), aligned(old), aligned(old + pitch)
        d, e = aligned(old + min(2, n) * pitch), aligned(old + min(3, n) * pitch)
        rows = a, b, c, d, e, aligned(old + min(4, n) * pitch)  # rows after row top + n are not read
        p = swept(rows, first, True)
        if not single_thread():
            q, r, s = swept(rows, 1, x + 1 < right), swept(rows, 2, x + 2 < right), swept(rows, 3, x + 3 < right)
        for row in range(ROWS):
            if row < n:
                to = aligned(band.new + offset + row * pitch)
                store(to, first, p[row])
                if not single_thread():
                    store(to, 1, q[row])
                    store(to, 2, r[row])
                    store(to, 3, s[row])


def aligned(address):
    """The address, which the compiler of a GPU then knows to be a multiple of VECTOR_BYTES."""
    return address if single_thread() else address & -VECTOR_BYTES


def swept(rows, k, counts):
    """The new values of ROWS points of column k; the old values unless ``counts``.  rows: addresses of ROWS + 2 rows"""
    above, a, b = load(rows[0], k), load(rows[1], k), load(rows[2], k)
    c, d, e = load(rows[3], k), load(rows[4], k), load(rows[5], k)
    p = relaxed(a, above, b, load(rows[1], k - 1), load(rows[1], k + 1))
    q = relaxed(b, a, c, load(rows[2], k - 1), load(rows[2], k + 1))
    r = relaxed(c, b, d, load(rows[3], k - 1), load(rows[3], k + 1))
    s = relaxed(d, c, e, load(rows[4], k - 1), load(rows[4], k + 1))
    return p if counts else a, q if counts else b, r if counts else c, s if counts else d
