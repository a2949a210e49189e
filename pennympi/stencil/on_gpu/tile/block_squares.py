"""The squares of a block's lanes, which one warp adds up while the other warps compute the next sweep.

    store_squares(address, lane, squares, counts)    all lanes of each warp; a barrier of the block follows
    add_up(warps, words, address, lane)              one warp: add the squares of all warps to the words of the sweep

The squares of a warp in shared memory: (LANES, 2) int64, the bins a and b of each lane; then (LANES,) the bins c; then
(1,) the upper half of the warp's scale.
"""

from ....compile.unroll import Static, static
from ....cuda.device.intrinsics import float_of
from ....kernels.block import bits, real
from ....kernels.sweep.norm import Squares, at_scale
from ..warp.norm import add_squares_of_warp, least_of_warp
from ..warp.shared import load_number, load_vector, store_number, store_vector
from ..warp.warp import LANES, pick

BINS_C, SCALE = 16 * LANES, 24 * LANES  # offsets of the bins c and of the scale
WARP_BYTES = SCALE + 16
NO_SCALE = 0x7FF00000  # stored by a warp without values; larger than the upper half of any scale


def store_squares(address, lane, squares: Squares, counts):
    """Store a lane's squares in shared memory.  The lanes of a warp have one scale (``squares_of_warp``).

    address: address of the warp's squares;  counts: True if the warp has values
    """
    store_vector(address + 16 * lane, (squares.a, squares.b))
    store_number(address + BINS_C + 8 * lane, squares.c)
    if lane == 0:
        store_number(address + SCALE, pick(counts, bits(1.0 * squares.scale) >> 32, NO_SCALE))


def add_up(warps: Static[int], words, address, lane):
    """Add the squares of ``warps`` warps, which begin at ``address``, to the words."""
    own = load_number(address + min(lane, warps - 1) * WARP_BYTES + SCALE, 0)
    upper = least_of_warp(own)  # upper half of a power of two, or of 0
    scale = real(float_of(upper << 32))
    if upper == -least_of_warp(0 if own == NO_SCALE else -own):
        parts = tuple(load_bins(address + w * WARP_BYTES, lane) for w in static(warps))
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
            a, b, c = load_bins(address, lane)
            upper_of_warp = load_number(address + SCALE, 0)
            more = at_scale(Squares(real(float_of(upper_of_warp << 32)), a, b, c), scale)
            total = Squares(scale, total.a + more.a, total.b + more.b, total.c + more.c)
            address += WARP_BYTES
            warp += 1
    add_squares_of_warp(words, total)


def load_bins(address, lane):
    """The three bins of a lane of a warp."""
    a, b = load_vector(address + 16 * lane, 0)
    return a, b, load_number(address + BINS_C + 8 * lane, 0)
