"""Chebyshev's sweep: kernels over whole rows, with one multiplication and two additions more than Jacobi's.

``new`` holds the field before ``old`` and is overwritten point by point, so that two fields are enough here too.  The
norm is that of the change which a plain sweep of ``old`` would make: the same measure of the error as Jacobi's.
"""

from collections.abc import Callable
from typing import Any

from pennympi.kernels.block import block, block_sum, blocks, first, lanes, load, real, store, sync

from ..norm.add_exact import add_exact
from .records import FieldPair, RowRange, Sum
from .row_sum import LOWER, add_up, fold, relax, square

LARGEST = 3e38


def unfused(product):
    """The product, which no compiler fuses with the addition after it: that would give a GPU other bits than a CPU.

    A minimum stands between the two operations, and a compiler cannot know that it changes nothing.
    """
    return min(product, real(LARGEST))


def advance(new_row, relaxed_row, weight, nx):
    """new = new + weight * (relaxed - new)"""
    for x in lanes(1, nx - 1):
        before = load(new_row, x)
        store(new_row, x, before + unfused(real(weight) * (load(relaxed_row, x) - before)))


def chebyshev(ctx, fields: FieldPair, rows: RowRange, weight: float):
    """new = one sweep of old, seen from new."""
    for row in range(rows.first_row + block() * rows.step_rows, rows.stop_row, blocks() * rows.step_rows):
        new_row = fields.new + row * fields.pitch_bytes
        old_row = fields.old + row * fields.pitch_bytes
        below = old_row + fields.pitch_bytes
        above = old_row - fields.pitch_bytes
        for x in lanes(1, fields.nx - 1):
            value = real(0.25) * (((load(old_row, x + 1) + load(old_row, x - 1)) + load(below, x)) + load(above, x))
            before = load(new_row, x)
            store(new_row, x, before + unfused(real(weight) * (value - before)))


def chebyshev_and_sum(ctx, fields: FieldPair, rows: RowRange, weight: float, into: Sum):
    """``chebyshev``, and the sum of the squared changes of each row, for blocks of many threads."""
    for row in range(rows.first_row + block() * rows.step_rows, rows.stop_row, blocks() * rows.step_rows):
        new_row = fields.new + row * fields.pitch_bytes
        old_row = fields.old + row * fields.pitch_bytes
        below = old_row + fields.pitch_bytes
        above = old_row - fields.pitch_bytes
        total = 0.0
        for x in lanes(1, fields.nx - 1):
            value = real(0.25) * (((load(old_row, x + 1) + load(old_row, x - 1)) + load(below, x)) + load(above, x))
            before = load(new_row, x)
            store(new_row, x, before + unfused(real(weight) * (value - before)))
            change = 1.0 * (value - load(old_row, x))
            total += change * change
        total = block_sum(total)
        if first():
            add_exact(into.words, total)


def chebyshev_then_sum(ctx, fields: FieldPair, rows: RowRange, weight: float, into: Sum):
    """``chebyshev_and_sum`` for one block of one thread (right with more threads).

    into.scratch: (2, pitch_bytes) bytes, a plain sweep of the row and then its squared changes
    """
    nx, pitch_bytes, relaxed = fields.nx, fields.pitch_bytes, into.scratch
    folded = nx - nx % 256
    squares = relaxed + pitch_bytes
    for row in range(rows.first_row + block() * rows.step_rows, rows.stop_row, blocks() * rows.step_rows):
        old_row = fields.old + row * pitch_bytes
        relax(relaxed, old_row, nx, pitch_bytes)
        if first():  # the fixed columns change by 0
            store(relaxed, 0, load(old_row, 0))
            store(relaxed, nx - 1, load(old_row, nx - 1))
        sync()
        advance(fields.new + row * pitch_bytes, relaxed, weight, nx)
        for at in range(0, folded, 256):
            fold(squares, relaxed, old_row, at)
        square(squares, relaxed, old_row, folded, nx - folded)
        sync()
        if first():
            add_exact(into.words, add_up(squares, folded // 8 + nx - folded) * LOWER)
        sync()


def measuring_kernel(team: Any) -> Callable[..., None]:
    """The kernel with norm for the team's device."""
    return chebyshev_and_sum if team.backend == "cuda" else chebyshev_then_sum
