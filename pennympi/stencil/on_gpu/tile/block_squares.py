"""The squares of a block's lanes, which one warp adds up while the others compute on.

    leave(at, lane, squares, counts)    all lanes of a warp; a barrier of the block follows
    add_up(warps, words, at, lane)      one warp, which adds what all have left to the words of the sweep

What a warp leaves: (LANES, 2) int64, the bins a and b of each lane, then (LANES,) the bins c, then (1,) the upper half of
the scale of all.
"""

from ....compile.unroll import Static, static
from ....cuda.device.intrinsics import float_of
from ....kernels.block import bits, real
from ....kernels.sweep.norm import Squares, at_scale
from ..warp.norm import add_squares_of_warp, least_of_warp
from ..warp.shared import load_number, load_vector, store_number, store_vector
from ..warp.warp import LANES, pick

BINS_C, SCALE = 16 * LANES, 24 * LANES  # where they lie
WARP_BYTES = SCALE + 16
NOTHING = 0x7FF00000  # in place of the upper half of a scale


def leave(at, lane, squares: Squares, counts):
    """Leave a lane's squares at the warp's place in shared memory.

    counts: whether the warp has any; its lanes have one scale (``squares_of_warp``)
    """
    store_vector(at + 16 * lane, (squares.a, squares.b))
    store_number(at + BINS_C + 8 * lane, squares.c)
    if lane == 0:
        store_number(at + SCALE, pick(counts, bits(1.0 * squares.scale) >> 32, NOTHING))


def add_up(warps: Static[int], words, at, lane):
    """Add what ``warps`` warps left from ``at`` on to the words."""
    own = load_number(at + min(lane, warps - 1) * WARP_BYTES + SCALE, 0)
    upper = least_of_warp(own)  # half of a power of two, or of 0
    scale = real(float_of(upper << 32))
    if upper == -least_of_warp(0 if own == NOTHING else -own):
        parts = tuple(load_part(at + w * WARP_BYTES, lane) for w in static(warps))
        a, b, c = parts[0]
        for w in static(1, warps):
            a = a + parts[w][0]
            b = b + parts[w][1]
            c = c + parts[w][2]
        total = Squares(scale, a, b, c)
    else:
        total = Squares(scale, 0, 0, 0)
        warp = 0
        while warp < warps:
            a, b, c = load_part(at, lane)
            theirs = load_number(at + SCALE, 0)
            more = at_scale(Squares(real(float_of(theirs << 32)), a, b, c), scale)
            total = Squares(scale, total.a + more.a, total.b + more.b, total.c + more.c)
            at += WARP_BYTES
            warp += 1
    add_squares_of_warp(words, total)


def load_part(at, lane):
    """The three bins that a lane of a warp left."""
    a, b = load_vector(at + 16 * lane, 0)
    return a, b, load_number(at + BINS_C + 8 * lane, 0)
