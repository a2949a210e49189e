"""What is done with all numbers of a piece: the formula, and the sum of the squared changes.  A piece is half a group."""

from collections.abc import Callable
from functools import cache
from typing import Any

from ...kernels.block import real
from ...kernels.sweep.formula import Stencil, applied
from ...kernels.sweep.norm import half_sum
from ..gpu import cuda
from .columns import each
from .shared import PIECE_BYTES
from .warp import pick, swap


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
def half_of_piece(stencil: Stencil) -> Callable[..., Any]:
    """``half(new, old, first, stop)``: the half of a group's value that numbers first .. stop - 1 of a piece make."""

    def column(k: int) -> Callable[..., Any]:
        def change(new, old, first, stop):
            return pick((first <= k) & (k < stop), new[k] - old[k], real(0.0))

        return change

    width = PIECE_BYTES // stencil.item_bytes
    changes, value = each(column, width), half_sum(width)

    def half(new, old, first, stop):
        return value(changes(new, old, first, stop))

    return half


@cache
def groups_of_halves(n: int) -> Callable[..., Any]:
    """``values(halves)``: the values of groups, of which lanes 2 k and 2 k + 1 have n halves each.

    Of two groups the even lane has the first, the odd one the second; of a last one the even lane, and the odd one 0.
    """

    def pair(k: int) -> Callable[..., Any]:
        first, second, both = 2 * k, min(2 * k + 1, n - 1), 2 * k + 1 < n

        def value(halves):
            odd = (cuda.laneid & 1) == 1
            one, other = halves[first], pick(both, halves[second], real(0.0))
            return pick(odd, other, one) + swap(pick(odd, one, other))

        return value

    return each(pair, (n + 1) // 2)
