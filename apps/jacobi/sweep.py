"""The sweep: kernel texts over the library's primitives, the same on a CPU and a GPU.

A field is given by the address of its row 0; rows are ``pitch_bytes`` apart.  Rows
``first_row, first_row + step, ...`` below ``stop_row`` are dealt out to the blocks.

How much a row has changed is summed in float64 in an order that depends on nothing
but the row, then added up as integers (``deposit``): integers may be added in any
order, so the norm has the same bits for every number of PEs.
"""

from collections.abc import Callable
from typing import Any

from pennympi.kernels.block import add_shared, block, block_sum, blocks, first, lanes, load, real, store, sync

# A row's sum is cut into four integers of 44 bits, in units of 1, 2**-44, 2**-88 and 2**-132.
# The 64-bit words have room for 2**20 rows.
LIMB_BITS = 44
LIMBS = 4
BAD_ROWS = 4  # the word after the limbs counts rows whose sum is not a number or too large
LEAST_BIT = 132
ONE_LIMB = 2.0**44

# Squares may pass through float32: this keeps those of tiny changes from vanishing.
RAISE, LOWER = 2.0**60, 2.0**-60


def relax(new_row, old_row, nx, pitch_bytes):
    """One row: every inner point becomes the mean of its neighbours.

    The order of the additions is that of NVIDIA's sample; another would give other bits.
    """
    below = old_row + pitch_bytes
    above = old_row - pitch_bytes
    for x in lanes(1, nx - 1):
        store(
            new_row,
            x,
            real(0.25) * (((load(old_row, x + 1) + load(old_row, x - 1)) + load(below, x)) + load(above, x)),
        )


def sweep(here, new, old, first_row, stop_row, step, nx, pitch_bytes):
    """new = one sweep of old."""
    for row in range(first_row + block() * step, stop_row, blocks() * step):
        relax(new + row * pitch_bytes, old + row * pitch_bytes, nx, pitch_bytes)


def deposit(words, total):
    """Add a row's sum to the limbs, exactly but for what is below 2**-132."""
    if total < ONE_LIMB:  # false for NaN
        for k in range(LIMBS):
            limb = int(total)
            add_shared(words, k, limb)
            total = (total - limb) * ONE_LIMB  # both steps are exact
    else:
        add_shared(words, BAD_ROWS, 1)


def sweep_and_sum(here, new, old, first_row, stop_row, step, nx, pitch_bytes, words, scratch):
    """``sweep``, and the change of every row to the five ``words``: for many threads a block."""
    for row in range(first_row + block() * step, stop_row, blocks() * step):
        new_row = new + row * pitch_bytes
        old_row = old + row * pitch_bytes
        below = old_row + pitch_bytes
        above = old_row - pitch_bytes
        total = 0.0
        for x in lanes(1, nx - 1):
            value = real(0.25) * (((load(old_row, x + 1) + load(old_row, x - 1)) + load(below, x)) + load(above, x))
            store(new_row, x, value)
            change = 1.0 * (value - load(old_row, x))  # 1.0 * widens to float64
            total += change * change
        total = block_sum(total)
        if first():
            deposit(words, total)


# On one thread the loop above is a chain of additions, one after another.  Below, each
# loop but the last is free of such a chain, so that the compiler vectorises it; the
# fixed columns take part (they change by 0), so that common widths leave no rest.


def fold(scratch, new_row, old_row, at):
    """scratch (32,) = squared changes of 256 points from ``at`` on, summed in eights."""
    for x in lanes(0, 32):
        y = at + x
        a = 1.0 * (load(new_row, y) - load(old_row, y))
        b = 1.0 * (load(new_row, y + 32) - load(old_row, y + 32))
        c = 1.0 * (load(new_row, y + 64) - load(old_row, y + 64))
        d = 1.0 * (load(new_row, y + 96) - load(old_row, y + 96))
        e = 1.0 * (load(new_row, y + 128) - load(old_row, y + 128))
        f = 1.0 * (load(new_row, y + 160) - load(old_row, y + 160))
        g = 1.0 * (load(new_row, y + 192) - load(old_row, y + 192))
        h = 1.0 * (load(new_row, y + 224) - load(old_row, y + 224))
        total = ((a * a + b * b) + (c * c + d * d)) + ((e * e + f * f) + (g * g + h * h))
        store(scratch, at // 8 + x, real(total * RAISE))


def square(scratch, new_row, old_row, at, count):
    """scratch (count,) = squared changes of the points from ``at`` on."""
    for x in lanes(0, count):
        change = 1.0 * (load(new_row, at + x) - load(old_row, at + x))
        store(scratch, at // 8 + x, real(change * change * RAISE))


def add_up(scratch, count):
    """Sum of scratch (count,) in eight chains."""
    a = b = c = d = e = f = g = h = 0.0
    for x in range(count // 8):
        a += load(scratch, 8 * x)
        b += load(scratch, 8 * x + 1)
        c += load(scratch, 8 * x + 2)
        d += load(scratch, 8 * x + 3)
        e += load(scratch, 8 * x + 4)
        f += load(scratch, 8 * x + 5)
        g += load(scratch, 8 * x + 6)
        h += load(scratch, 8 * x + 7)
    for x in range(count - count % 8, count):
        a += load(scratch, x)
    return ((a + b) + (c + d)) + ((e + f) + (g + h))


def sweep_then_sum(here, new, old, first_row, stop_row, step, nx, pitch_bytes, words, scratch):
    """``sweep_and_sum`` for one block of one thread (right with more threads).  scratch: (nx,) elements."""
    folded = nx - nx % 256
    for row in range(first_row + block() * step, stop_row, blocks() * step):
        new_row = new + row * pitch_bytes
        old_row = old + row * pitch_bytes
        relax(new_row, old_row, nx, pitch_bytes)
        sync()
        for at in range(0, folded, 256):
            fold(scratch, new_row, old_row, at)
        square(scratch, new_row, old_row, folded, nx - folded)
        sync()
        if first():
            deposit(words, add_up(scratch, folded // 8 + nx - folded) * LOWER)
        sync()


def wrap(here, field, rows, nx, pitch_bytes):
    """Close the ring inside one PE: row 0 = row ``rows``, row ``rows + 1`` = row 1."""
    for side in range(block(), 2, blocks()):
        source = field + (rows - side * (rows - 1)) * pitch_bytes
        target = field + side * (rows + 1) * pitch_bytes
        for x in lanes(0, nx):
            store(target, x, load(source, x))


def measuring_text(team: Any) -> Callable[..., None]:
    """The sweep with norm that suits the team's device."""
    return sweep_and_sum if team.backend == "cuda" else sweep_then_sum
