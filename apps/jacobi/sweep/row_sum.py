"""The squared changes of a row, summed in float64 in an order that depends on nothing but the row, for Chebyshev.

On one thread a plain sum is a chain of additions.  ``fold``, ``square`` and ``add_up`` have no such chain, so that a
compiler vectorises them.  The fixed columns take part: they change by 0.
"""

from pennympi.kernels.block import lanes, load, real, store

# Squares may pass through float32: these factors keep the squares of tiny changes from vanishing.
RAISE, LOWER = 2.0**60, 2.0**-60


def relax(new_row, old_row, nx, pitch_bytes):
    """One row: every inner point of new_row is the mean of its neighbours in old_row.

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


def fold(scratch, new_row, old_row, at):
    """32 elements from scratch + at / 8 on = the squared changes of 256 points from ``at`` on, summed in eights."""
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
    """count elements from scratch + at / 8 on = the squared changes of the points from ``at`` on."""
    for x in lanes(0, count):
        change = 1.0 * (load(new_row, at + x) - load(old_row, at + x))
        store(scratch, at // 8 + x, real(change * change * RAISE))


def add_up(scratch, count):
    """Sum of scratch (count,), in eight chains of additions."""
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
