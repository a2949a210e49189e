"""Chebyshev's sweep: kernel texts for whole rows, with one multiplication and two additions more.

``new`` holds the field before ``old`` and is overwritten point by point, so that two fields are enough here too.  The
norm is that of the change which a plain sweep of ``old`` would make: the same measure of the error as Jacobi's.
"""

from collections.abc import Callable
from typing import Any

from pennympi.kernels.block import block, block_sum, blocks, first, lanes, load, real, store, sync

from ..norm.add_exact import add_exact
from .row_sum import LOWER, add_up, fold, relax, square

MOST = 3e38


def unfused(product):
    """The product, kept from being fused with the addition after it, which would give a GPU other bits than a CPU.

    No compiler may assume that a product is never too large, and between the two operations now stands another.
    """
    return min(product, real(MOST))


def advance(new_row, relaxed_row, weight, nx):
    """new = new + weight * (relaxed - new)"""
    for x in lanes(1, nx - 1):
        before = load(new_row, x)
        store(new_row, x, before + unfused(real(weight) * (load(relaxed_row, x) - before)))


def chebyshev(ctx, new, old, first_row, stop_row, step, nx, pitch_bytes, weight):
    """new = one sweep of old, seen from new."""
    for row in range(first_row + block() * step, stop_row, blocks() * step):
        new_row = new + row * pitch_bytes
        old_row = old + row * pitch_bytes
        below = old_row + pitch_bytes
        above = old_row - pitch_bytes
        for x in lanes(1, nx - 1):
            value = real(0.25) * (((load(old_row, x + 1) + load(old_row, x - 1)) + load(below, x)) + load(above, x))
            before = load(new_row, x)
            store(new_row, x, before + unfused(real(weight) * (value - before)))


def chebyshev_and_sum(ctx, new, old, first_row, stop_row, step, nx, pitch_bytes, weight, words, scratch):
    """``chebyshev``, and the change of every row to the ``words``: for many threads a block."""
    for row in range(first_row + block() * step, stop_row, blocks() * step):
        new_row = new + row * pitch_bytes
        old_row = old + row * pitch_bytes
        below = old_row + pitch_bytes
        above = old_row - pitch_bytes
        total = 0.0
        for x in lanes(1, nx - 1):
            value = real(0.25) * (((load(old_row, x + 1) + load(old_row, x - 1)) + load(below, x)) + load(above, x))
            before = load(new_row, x)
            store(new_row, x, before + unfused(real(weight) * (value - before)))
            change = 1.0 * (value - load(old_row, x))
            total += change * change
        total = block_sum(total)
        if first():
            add_exact(words, total)


def chebyshev_then_sum(ctx, new, old, first_row, stop_row, step, nx, pitch_bytes, weight, words, scratch):
    """``chebyshev_and_sum`` for one block of one thread (right with more threads).

    scratch: (2 nx,) elements, a plain sweep of the row and then its squares
    """
    folded = nx - nx % 256
    squares = scratch + pitch_bytes
    for row in range(first_row + block() * step, stop_row, blocks() * step):
        new_row = new + row * pitch_bytes
        old_row = old + row * pitch_bytes
        relax(scratch, old_row, nx, pitch_bytes)
        if first():  # the fixed columns change by 0
            store(scratch, 0, load(old_row, 0))
            store(scratch, nx - 1, load(old_row, nx - 1))
        sync()
        advance(new_row, scratch, weight, nx)
        for at in range(0, folded, 256):
            fold(squares, scratch, old_row, at)
        square(squares, scratch, old_row, folded, nx - folded)
        sync()
        if first():
            add_exact(words, add_up(squares, folded // 8 + nx - folded) * LOWER)
        sync()


def measuring_kernel(team: Any) -> Callable[..., None]:
    """The sweep with norm that suits the team's device."""
    return chebyshev_and_sum if team.backend == "cuda" else chebyshev_then_sum
