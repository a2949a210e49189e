"""The norm of a sweep on a GPU: the lanes of a warp add up the values of their groups, without a barrier of the block.

A warp begins with ``squares_of_warp`` of a few values of each lane, or adds values by ``add_values_of_warp``; then
``add_squares_of_warp`` adds the squares to the words of the sweep.  All lanes of a warp have the same window: separate
windows would move at different times, and the warp would run the branches of each lane in turn.
"""

from llvmlite import ir

from ....compile.unroll import Static
from ....cuda.compiler.gpu import cuda, intrinsic, types
from ....cuda.device.intrinsics import add_int64, assembly, float_of
from ....kernels.block import bits, real
from ....kernels.in_kernel.exact import BAD_WORD, LIMIT
from ....kernels.sweep.norm import (
    LOW_BITS,
    Squares,
    add_values,
    at_scale,
    copy_of_words,
    cut_values,
    no_squares,
    raised,
    top_bin,
)
from .warp import ALL_LANES

# An accumulator of LOW_BITS bits is added up in two parts, so that 32 lanes' sum is below 2**31; the lower has LOW bits.
LOW = 26
LOW_PART, ABOVE = (1 << LOW) - 1, 64 - LOW_BITS


def _reducing(ptx):
    """An intrinsic that reduces the low 32 bits of an int64, as an int32, over the 32 lanes of a warp."""

    @intrinsic
    def run(typing, x):
        def code(context, b, signature, args):
            i32 = ir.IntType(32)
            return b.sext(assembly(b, i32, [b.trunc(args[0], i32)], ptx, "=r,r"), ir.IntType(64))

        return types.int64(types.int64), code

    return run


sum_of_warp = _reducing("redux.sync.add.s32 $0, $1, -1;")
least_of_warp = _reducing("redux.sync.min.s32 $0, $1, -1;")


@intrinsic
def largest_of_warp(typing, values):
    """The largest number in the tuples of all lanes.  No number is negative; NaN is larger than all numbers.

    For float64 the result is rounded to 32 bits, so that it is on the same side of each power of two as the number.
    """
    like, i32 = values.dtype, ir.IntType(32)

    def code(context, b, signature, args):
        largest = ir.Constant(i32, 0)
        for k in range(values.count):
            upper = b.bitcast(b.extract_value(args[0], k), ir.IntType(like.bitwidth))
            if like.bitwidth == 64:
                rest = b.icmp_unsigned("!=", b.trunc(upper, i32), ir.Constant(i32, 0))
                upper = b.or_(b.trunc(b.lshr(upper, ir.Constant(upper.type, 32)), i32), b.zext(rest, i32))
            largest = b.select(b.icmp_unsigned(">", upper, largest), upper, largest)
        largest = assembly(b, i32, [largest], "redux.sync.max.u32 $0, $1, -1;", "=r,r")
        if like.bitwidth == 64:
            largest = b.shl(b.zext(largest, ir.IntType(64)), ir.Constant(ir.IntType(64), 32))
        return b.bitcast(largest, context.get_value_type(like))

    return like(values), code


def in_all(condition):
    """True if the condition holds in all lanes of the warp."""
    return cuda.all_sync(ALL_LANES, condition)


def _least_scale(scale):
    return real(float_of(least_of_warp(bits(1.0 * scale) >> 32) << 32))  # powers of two


def raised_in_all(squares, value):
    """``raised`` to the highest window of the warp's lanes."""
    if not in_all(value * squares.scale <= real(LIMIT)):
        squares = raised(squares, value)
        squares = at_scale(squares, _least_scale(squares.scale))
    return squares


def add_values_of_warp(n: Static[int], squares: Squares, values):
    """``add_values`` for all lanes of a warp together.  A lane without a value passes 0."""
    return add_values(n, squares, values, in_all, raised_in_all)


def squares_of_warp(n: Static[int], values):
    """The squares of n values of each lane, with one window for all lanes.  A lane without a value passes 0."""
    return cut_values(n, raised(no_squares(), largest_of_warp(values)), values)


def total_of_warp(accumulator):
    """The sum of the ``multiples`` of an accumulator over the lanes of a warp, in every lane."""
    high = (accumulator << ABOVE) >> (ABOVE + LOW)
    return (sum_of_warp(high) << LOW) + sum_of_warp(accumulator & LOW_PART)


def add_squares_of_warp(words, squares: Squares):
    """Add the squares of the lanes of a warp to this block's copy of the words at address ``words``."""
    scale, lane = _least_scale(squares.scale), cuda.laneid
    squares = at_scale(squares, scale)
    a, b, c = total_of_warp(squares.a), total_of_warp(squares.b), total_of_warp(squares.c)
    value = a if lane == 0 else b if lane == 1 else c
    first_word = copy_of_words(words)
    if scale == 0:
        if lane == 0:
            add_int64(first_word + 8 * BAD_WORD, 1)
    elif lane < 3 and value != 0:
        add_int64(first_word + 8 * (top_bin(scale) + lane), value)
