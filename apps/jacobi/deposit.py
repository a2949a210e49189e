"""Adding a sum of squares to the limbs of ``limbs.py``, in a text that works row by row."""

from pennympi.kernels.block import add_shared

from .limbs import BAD, LIMB_BITS, LIMBS, TOO_LARGE

SCALE, LIMIT, ONE_LIMB = 2.0**-TOO_LARGE, 2.0**TOO_LARGE, 2.0**LIMB_BITS


def deposit(words, total):
    """Add a float64 sum to the limbs at ``words``."""
    if total < LIMIT:  # false for what is not a number
        total *= SCALE
        for k in range(LIMBS):
            total *= ONE_LIMB
            limb = int(total)
            add_shared(words, k, limb)
            total -= limb  # all steps are exact
    else:
        add_shared(words, BAD, 1)
