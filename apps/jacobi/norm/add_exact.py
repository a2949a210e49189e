"""Adding sums of squares to the limbs of ``limbs.py``, each limb's halves to two words."""

from pennympi.kernels.block import add_shared

from .exact_sum import BAD, COPIES, HALF_BITS, HALF_MASK, LIMB_BITS, LIMBS, TOO_LARGE, WORDS_BYTES

SCALE, LIMIT, ONE_LIMB = 2.0**-TOO_LARGE, 2.0**TOO_LARGE, 2.0**LIMB_BITS


def deposit(words, total):
    """Add a float64 sum to the limbs at ``words``, in a text that works row by row."""
    if total < LIMIT:  # false for what is not a number
        total *= SCALE
        for k in range(LIMBS):
            total *= ONE_LIMB
            limb = int(total)
            if limb != 0:  # a sum's bits are in two or three of them
                deposit_limb(words, k, limb)
            total -= limb  # all steps are exact
    else:
        add_shared(words, BAD, 1)


def deposit_limb(words, k, limb):
    """Add to limb k."""
    add_shared(words, k, limb >> HALF_BITS)
    add_shared(words, LIMBS + k, limb & HALF_MASK)


def deposit_lane(words, warp, lane, share, level, levels, limb, bad):
    """Add a lane's limb, the sum over a chunk's rows, to the words of its level, in the text of a warp.

    share: lanes of a level, the first of which have the limbs;  bad: whether to count a bad segment
    """
    k = lane % share
    if level < levels and k < LIMBS:
        at = words + (level * COPIES + warp % COPIES) * WORDS_BYTES
        deposit_limb(at, k, limb)
        if bad and k == 0:
            add_shared(at, BAD, 1)
