"""The squares of a block's lanes, which one warp adds up while the others compute on.

    leave(at, lane, squares, counts)    all lanes of a warp; a barrier of the block follows
    add_up(words, at, lane)             summing(warps): one warp, which adds what all have left to the words of the sweep

What a warp leaves: (LANES, 2) int64, the bins a and b of each lane, then (LANES,) the bins c, then (1,) the upper half of
the scale of all.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from ...kernels.block import bits, real
from ...kernels.sweep.norm import Squares, at_scale
from ..intrinsics import float_of
from .columns import each
from .norm import add_squares_of_warp, least_of_warp
from .shared import load_number, load_vector, store_number, store_vector
from .warp import LANES, pick

BINS_C, SCALE = 16 * LANES, 24 * LANES  # where they lie
WARP_BYTES = SCALE + 16
NOTHING = 0x7FF00000  # in place of the upper half of a scale


def leave(at, lane, squares: Squares, counts):
    """Leave a lane's squares at the warp's place in shared memory.

    counts: whether the warp has any; its lanes have one scale (``warp_adder``)
    """
    store_vector(at + 16 * lane, (squares.a, squares.b))
    store_number(at + BINS_C + 8 * lane, squares.c)
    if lane == 0:
        store_number(at + SCALE, pick(counts, bits(1.0 * squares.scale) >> 32, NOTHING))


@cache
def summing(warps: int) -> Callable[..., None]:
    """``add_up(words, at, lane)``: add what ``warps`` warps left from ``at`` on to the words."""

    def part_of(w: int) -> Callable[..., Any]:
        def part(at, lane):
            a, b = load_vector(at + w * WARP_BYTES + 16 * lane, 0)
            return a, b, load_number(at + w * WARP_BYTES + BINS_C + 8 * lane, 0)

        return part

    parts, total = each(part_of, warps), _first
    for w in range(1, warps):
        total = _sum(w, total)

    def add_up(words, at, lane):
        own = load_number(at + min(lane, warps - 1) * WARP_BYTES + SCALE, 0)
        upper = least_of_warp(own)  # half of a power of two, or of 0
        scale = real(float_of(upper << 32))
        if upper == -least_of_warp(0 if own == NOTHING else -own):
            a, b, c = total(parts(at, lane))
            every = Squares(scale, a, b, c)
        else:
            every = Squares(scale, 0, 0, 0)
            warp = 0
            while warp < warps:
                a, b = load_vector(at + 16 * lane, 0)
                c, theirs = load_number(at + BINS_C + 8 * lane, 0), load_number(at + SCALE, 0)
                more = at_scale(Squares(real(float_of(theirs << 32)), a, b, c), scale)
                every = Squares(scale, every.a + more.a, every.b + more.b, every.c + more.c)
                at += WARP_BYTES
                warp += 1
        add_squares_of_warp(words, every)

    return add_up


def _first(given):
    return given[0]


def _sum(w: int, fewer: Any) -> Callable[..., Any]:
    def total(given):
        a, b, c = fewer(given)
        return a + given[w][0], b + given[w][1], c + given[w][2]

    return total
