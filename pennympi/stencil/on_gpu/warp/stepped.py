"""The formula and the sum of squared changes for all numbers of a piece.  A piece is half a group of the norm."""

from ....compile.unroll import Static, static
from ....cuda.compiler.gpu import cuda
from ....kernels.block import real
from ....kernels.sweep.formula import Stencil, apply
from ....kernels.sweep.norm import half_sum
from .shared import PIECE_BYTES
from .warp import pick, swap


def numbers_of_piece(stencil: Stencil) -> Static[int]:
    """Number of numbers of a piece."""
    return PIECE_BYTES // stencil.item_bytes


def stepped_piece(stencil: Static[Stencil], x, y, line, numbers, coefficient):
    """The piece's new values.

    x, y:  the neighbouring pieces in x and y, (minus, plus)
    line:  the numbers of the piece, with the number before it and the number after it
    coefficient: a piece of coefficients; ignored if the formula takes none
    """
    return tuple(
        real(
            apply(
                stencil,
                line[k + 1],
                ((x[0][k], x[1][k]), (y[0][k], y[1][k]), (line[k], line[k + 2])),
                numbers,
                coefficient[k],
            )
        )
        for k in static(numbers_of_piece(stencil))
    )


def half_of_piece(stencil: Static[Stencil], new, old, first, stop):
    """Half of a group's value: the sum of the squared changes of numbers first .. stop - 1 of a piece."""
    width = numbers_of_piece(stencil)
    changes = tuple(pick((first <= k) & (k < stop), new[k] - old[k], real(0.0)) for k in static(width))
    return half_sum(width, changes)


def groups_of_halves(n: Static[int], halves):
    """The values of n groups.  Lanes 2 k and 2 k + 1 have n halves each.

    Of each two groups the even lane returns the first value and the odd lane the second.  If n is odd, the even lane
    returns the last value, and the odd lane 0.
    """
    return tuple(
        group_of_halves(halves[2 * k], halves[min(2 * k + 1, n - 1)], 2 * k + 1 < n) for k in static((n + 1) // 2)
    )


def group_of_halves(first, second, has_second: Static[bool]):
    """The value of the first group in the even lane, of the second group in the odd lane; each has a half of both."""
    is_odd = (cuda.laneid & 1) == 1
    second = pick(has_second, second, real(0.0))
    return pick(is_odd, second, first) + swap(pick(is_odd, first, second))
