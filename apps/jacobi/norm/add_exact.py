"""Device functions that add sums of squares to the exact sum of ``exact_sum.py``: each half of a limb to its own word."""

from typing import NamedTuple

from pennympi.kernels.block import add_shared

from .exact_sum import BAD_WORD, COPIES, HALF_BITS, HALF_MASK, INTEGER_BITS, LIMB_BITS, LIMBS, WORDS_BYTES

SCALE, LIMIT, ONE_LIMB = 2.0**-INTEGER_BITS, 2.0**INTEGER_BITS, 2.0**LIMB_BITS


class LaneSum(NamedTuple):
    """Which sum a lane of a warp holds: that of ``level``, of which there are ``levels``.

    share: lanes that hold the sum of the same level; the first LIMBS of them hold its limbs
    """

    lane: int
    share: int
    level: int
    levels: int


def add_exact(words, total):
    """Add the float64 ``total`` to the limbs at address ``words``.  One thread calls it."""
    if total < LIMIT:  # false for NaN
        total *= SCALE
        for k in range(LIMBS):
            total *= ONE_LIMB
            limb = int(total)
            if limb != 0:  # a sum has bits in two or three limbs only
                add_exact_limb(words, k, limb)
            total -= limb  # all steps are exact
    else:
        add_shared(words, BAD_WORD, 1)


def add_exact_limb(words, k, limb):
    """Add the int64 ``limb`` to limb k at address ``words``."""
    add_shared(words, k, limb >> HALF_BITS)
    add_shared(words, LIMBS + k, limb & HALF_MASK)


def add_exact_lane(words, warp, place: LaneSum, limb, bad):
    """Add a lane's limb, summed over the rows of a chunk, to the words of its level.  All lanes of a warp call it.

    bad: whether a segment of this chunk is to be counted as bad
    """
    k = place.lane % place.share
    if place.level < place.levels and k < LIMBS:
        at = words + (place.level * COPIES + warp % COPIES) * WORDS_BYTES
        add_exact_limb(at, k, limb)
        if bad and k == 0:
            add_shared(at, BAD_WORD, 1)
