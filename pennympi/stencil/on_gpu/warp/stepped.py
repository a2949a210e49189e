"""What is done with all numbers of a piece: the formula, and the sum of the squared changes.  A piece is half a group."""

from ....compile.unroll import Static, static
from ....cuda.compiler.gpu import cuda
from ....kernels.block import real
from ....kernels.sweep.formula import Stencil, apply
from ....kernels.sweep.norm import half_sum
from .shared import PIECE_BYTES
from .warp import pick, swap


def numbers_of_piece(stencil: Stencil) -> Static[int]:
    """Numbers of a piece."""
    return PIECE_BYTES // stencil.item_bytes


def stepped_piece(stencil: Static[Stencil], x, y, line, numbers, coefficient):
    """The piece's new values.

    x, y:  the pieces beside it (minus, plus)
    line:  the piece, with the numbers before and after it
    coefficient: a piece; anything where the formula takes none
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
    """The half of a group's value that numbers first .. stop - 1 of a piece make."""
    width = numbers_of_piece(stencil)
    changes = tuple(pick((first <= k) & (k < stop), new[k] - old[k], real(0.0)) for k in static(width))
    return half_sum(width, changes)


def groups_of_halves(n: Static[int], halves):
    """The values of groups, of which lanes 2 k and 2 k + 1 have n halves each.

    Of two groups the even lane has the first, the odd one the second; of a last one the even lane, and the odd one 0.
    """
    return tuple(
        group_of_halves(halves[2 * k], halves[min(2 * k + 1, n - 1)], 2 * k + 1 < n) for k in static((n + 1) // 2)
    )


def group_of_halves(first, second, has_second: Static[bool]):
    """The value of one of two groups, of which two lanes have a half each."""
    is_odd = (cuda.laneid & 1) == 1
    second = pick(has_second, second, real(0.0))
    return pick(is_odd, second, first) + swap(pick(is_odd, first, second))
