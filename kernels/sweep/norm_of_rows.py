"""The norm of a user's sweep kernel: the threads of a block add up the groups of its rows.

squares = squares_before(words)                  before the block's rows
squares = add_rows(item_bytes, squares, rows)    for some rows at a time
add_squares_of_block(words, squares)             after the block's rows
"""

from math import nan
from typing import NamedTuple

from ..block import Words, add_block_sums, lanes, load, multiply_add, read_epoch, real, single_thread
from ..static import Static
from .norm import (
    GROUP_BYTES,
    LIMIT,
    SCALE_0,
    SCALE_1,
    SCALE_2,
    SCALE_3,
    Squares,
    add_group,
    copy_of_words,
    cut,
    group_points,
    multiples,
    raised,
    top_bin,
)


class SweptRows(NamedTuple):
    """Rows of the two fields of a sweep.  The fields are equal between a row's last point and the end of its last group.

    new, old: addresses of the first point, on a GPU multiples of GROUP_BYTES
    pitch:    bytes from a row to the next row
    n_rows:   number of rows;  points: number of points of a row
    """

    new: int
    old: int
    pitch: int
    n_rows: int
    points: int


def squares_before(words: Words):
    """``no_squares`` with the window at the first bin that is not empty in this block's copy of the words."""
    return Squares(scale_of_words(copy_of_words(words)), 0, 0, 0)


def scale_of_words(words: Words):
    """The scale for the window at the first bin that is not empty in the words at an address."""
    if read_epoch(words, 0) != 0:
        return real(SCALE_0)
    if read_epoch(words, 1) != 0:
        return real(SCALE_1)
    return real(SCALE_2) if read_epoch(words, 2) != 0 else real(SCALE_3)


def add_rows(item_bytes: Static[int], squares: Squares, rows: SweptRows):
    """Add the groups of some rows of two fields.  item_bytes: bytes of an element"""
    new, old, pitch, n_rows, points = rows
    n = group_points(item_bytes)
    groups = (points + n - 1) // n
    if single_thread():
        for row in range(n_rows):
            squares = add_row(item_bytes, squares, new + row * pitch, old + row * pitch, groups)
    else:
        for k in lanes(0, n_rows * groups):
            offset = k // groups * pitch + k % groups * GROUP_BYTES
            value = group_value(item_bytes, (new + offset) & -GROUP_BYTES, (old + offset) & -GROUP_BYTES, 0)
            squares = add_group(squares, value)
    return squares


def add_row(item_bytes: Static[int], squares: Squares, new, old, groups):
    """Add a row on a CPU, by one thread.  The compiler vectorizes these loops."""
    in_window = True
    for k in range(groups):
        in_window &= group_value(item_bytes, new, old, k) * squares.scale <= real(LIMIT)
    if not in_window:
        for k in range(groups):
            squares = raised(squares, group_value(item_bytes, new, old, k))
    for k in range(groups):
        squares = cut(squares, group_value(item_bytes, new, old, k) * squares.scale)
    return squares


def group_value(item_bytes: Static[int], new, old, group):
    """The value of a group of two rows."""
    n = group_points(item_bytes)
    first, second = group * n, group * n + n // 2
    return half_value(n // 2, new, old, first) + half_value(n // 2, new, old, second)


def half_value(n: Static[int], new, old, first):
    """The sum of the squares of n changes.  first: index of the first change"""
    total = real(0.0)
    for k in range(first, first + n):
        change = load(new, k) - load(old, k)
        total = multiply_add(change, change, total)
    return total


def add_squares_of_block(words: Words, squares: Squares):
    """Add the sums of a block's threads to the words at address ``words``: each thread has three of the six bins."""
    top = top_bin(squares.scale)
    a = 1.0 * multiples(squares.a) if squares.scale > 0 else nan
    b, c = 1.0 * multiples(squares.b), 1.0 * multiples(squares.c)
    x, y = (a if top == 0 else 0.0), (b if top == 0 else a if top == 1 else 0.0)
    third = c if top == 0 else b if top == 1 else a if top == 2 else 0.0
    fourth = c if top == 1 else b if top == 2 else a if top == 3 else 0.0
    lower = (c if top == 2 else b if top == 3 else 0.0), (c if top == 3 else 0.0)
    add_block_sums(copy_of_words(words), (x, y, third, fourth, *lower))
