"""What is done with all numbers of a piece: the formula, and the sum of the squared changes."""

from collections.abc import Callable
from functools import cache
from typing import Any

from ...kernels.block import real
from ...kernels.sweep.formula import Stencil, applied
from ...kernels.sweep.norm import adder
from .columns import each
from .pieces import PIECE_BYTES
from .warp import pick


@cache
def stepped_piece(stencil: Stencil) -> Callable[..., Any]:
    """``stepped(here, x, y, line, numbers, coefficient)``: the piece's new values.

    x, y:  the pieces beside it (minus, plus)
    line:  the piece, with the numbers before and after it
    coefficient: a piece; anything where the formula takes none
    """
    apply = applied(stencil)

    def column(k: int) -> Callable[..., Any]:
        right = k + 2

        def one(here, x, y, line, numbers, coefficient):
            beside_x, beside_y = (x[0][k], x[1][k]), (y[0][k], y[1][k])
            return real(apply(here[k], beside_x, beside_y, (line[k], line[right]), (numbers, coefficient[k])))

        return one

    return each(column, PIECE_BYTES // stencil.item_bytes)


@cache
def squares_of_piece(stencil: Stencil) -> Callable[..., Any]:
    """``add(squares, new, old, first, stop)``: the squares with those of the changes of numbers first .. stop - 1."""

    def column(k: int) -> Callable[..., Any]:
        def change(new, old, first, stop):
            return pick((first <= k) & (k < stop), new[k] - old[k], real(0.0))

        return change

    width = PIECE_BYTES // stencil.item_bytes
    changes, add_changes = each(column, width), adder(width, stencil.dtype)

    def add(squares, new, old, first, stop):
        return add_changes(squares, changes(new, old, first, stop))

    return add
