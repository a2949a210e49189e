"""The formula, and the kernels of the variants that sweep once at a time: without a norm of the change, and with it.

A block of threads sweeps a tile of ROWS x COLUMNS points.  Neighbouring threads have neighbouring columns, so that a warp
reads whole lines of memory.  All loads of a thread's points come before its stores, and are under way together.
"""

from typing import NamedTuple

from pennympi.kernels.block import Elements, Words, add_block_sums, alone, block, lanes, load, product, real, store
from pennympi.kernels.sweep.norm import (
    MOST,
    Squares,
    add_squares_to_words,
    adder,
    copy_of_words,
    cut,
    is_below,
    multiples,
    no_squares,
    raised,
    scale_of_words,
    top_bin,
)

ROWS, COLUMNS, THREADS = 4, 1024, 256
NAN = float("nan")
add_changes = adder(ROWS)


class Band(NamedTuple):
    """Which rows of two fields a launch sweeps.

    new, old:  the fields: nx columns, and pitch elements from a row to the next
    start, stop: the first row, and the one after the last;  step: rows from a tile to the next;  high: rows of a tile
    """

    new: Elements
    old: Elements
    start: int
    stop: int
    step: int
    high: int
    nx: int
    pitch: int


def relaxed(here, above, below, west, east):
    """A point's new value, in the order of NVIDIA's sample, which decides the last bits."""
    return product(real(0.25), ((east + west) + below) + above)


def sweep(ctx, band: Band):
    """One sweep of a band."""
    top, stop, left, right = tile(band)
    for x in lanes(left, right):
        sweep_column(band, top, stop, x)


def sweep_with_norm(ctx, band: Band, words: Words):
    """The same, and the squares of the changes are added to the words of a norm."""
    top, stop, left, right = tile(band)
    if alone():  # vector instructions go along rows
        for x in lanes(left, right):
            sweep_column(band, top, stop, x)
        for row in range(top, stop):
            add_squares_of_row(words, band.new, band.old, row * band.pitch + left, row * band.pitch + right)
    else:
        squares = no_squares()
        for x in lanes(left, right):
            a, b, c, d = sweep_column(band, top, stop, x)
            n, zero = stop - top, real(0.0)
            squares = add_changes(squares, (a, b if n > 1 else zero, c if n > 2 else zero, d if n > 3 else zero))
        add_squares_of_block(words, squares)


def tile(band: Band):
    """This block's tile: its first row and the one after the last; so the columns, without those that are fixed."""
    across = (band.nx - 2 + COLUMNS - 1) // COLUMNS
    top, left = band.start + block() // across * band.step, 1 + block() % across * COLUMNS
    return top, min(top + band.high, band.stop), left, min(left + COLUMNS, band.nx - 1)


def sweep_column(band: Band, top, stop, x):
    """Sweep column x of a tile, and return the changes of ROWS rows, of which those up to ``stop`` count."""
    old, pitch, last = band.old, band.pitch, stop * band.pitch  # after which nothing is read
    at_a = top * pitch
    at_b, at_c = min(at_a + pitch, last), min(at_a + 2 * pitch, last)
    at_d, at_e = min(at_a + 3 * pitch, last), min(at_a + 4 * pitch, last)
    above, a, b = load(old, at_a - pitch + x), load(old, at_a + x), load(old, at_b + x)
    c, d, e = load(old, at_c + x), load(old, at_d + x), load(old, at_e + x)
    p = relaxed(a, above, b, load(old, at_a + x - 1), load(old, at_a + x + 1))
    q = relaxed(b, a, c, load(old, at_b + x - 1), load(old, at_b + x + 1))
    r = relaxed(c, b, d, load(old, at_c + x - 1), load(old, at_c + x + 1))
    s = relaxed(d, c, e, load(old, at_d + x - 1), load(old, at_d + x + 1))
    for k in range(ROWS):
        if top + k < stop:
            store(band.new, (top + k) * pitch + x, (p, q, r, s)[k])
    return p - a, q - b, r - c, s - d


def add_squares_of_block(words, squares: Squares):
    """Add what the threads of a block hold to the words: each of them to three of the BINS bins, as whole numbers."""
    top, a = top_bin(squares.scale), 1.0 * multiples(squares.a) if squares.scale > 0 else NAN
    b, c = 1.0 * multiples(squares.b), 1.0 * multiples(squares.c)
    upper = a if top == 0 else 0.0, b if top == 0 else a if top == 1 else 0.0
    third = c if top == 0 else b if top == 1 else a if top == 2 else 0.0
    fourth = c if top == 1 else b if top == 2 else a if top == 3 else 0.0
    lower = c if top == 2 else b if top == 3 else 0.0, c if top == 3 else 0.0
    add_block_sums(copy_of_words(words), (*upper, third, fourth, *lower))


def add_squares_of_row(words, new, old, first, stop):
    """Add the squares of new - old of some elements to the words, by one thread: its loops become vector instructions."""
    squares, below = Squares(scale_of_words(copy_of_words(words)), 0, 0, 0), True
    for k in range(first, stop):
        below &= is_below((load(new, k) - load(old, k)) * squares.scale, MOST)
    if not below:  # some do not belong to the bins that the words hold already
        for k in range(first, stop):
            squares = raised(squares, load(new, k) - load(old, k))
    for k in range(first, stop):
        squares = cut(squares, (load(new, k) - load(old, k)) * squares.scale)
    add_squares_to_words(words, squares)
