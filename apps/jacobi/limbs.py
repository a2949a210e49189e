"""How the squares of a sweep's changes are added up: the same bits in any order, so on any number of PEs.

1. A lane is WIDTH columns that lie together.  Its changes d = new - old are squared and summed in the field's dtype:
   fma(d3,d3, fma(d2,d2, fma(d1,d1, d0*d0))) of either half of them, then both halves are added.
2. A segment is a row's columns k * SEGMENT .. (k+1) * SEGMENT - 1, the columns that one warp of a GPU keeps.  Its lanes
   are numbered from EDGE // WIDTH on, and are added in pairs 16 apart, then 8, 4, 2 and 1 (lanes that are not there: 0).
3. From here on all is exact.  A segment's sum is cut into LIMBS integers of LIMB_BITS bits, in units of
   2**(LIMB_BITS * k - LEAST_BIT), and integers are added up over segments, rows and PEs.  What is below 2**-LEAST_BIT
   is dropped.  A sum that is not a number, or is 2**TOO_LARGE or more, is counted instead: then the norm is NaN.

A lane and a segment are the same for any number of sweeps in a pass, which is why their edges are the widest ever needed.
"""

LANES = 32
EDGE = 8  # columns on either side of a warp that another warp keeps: so many sweeps may be in one pass
WIDTH = {"float32": 8, "float64": 4}  # columns of a lane: 32 bytes
LANE_BYTES = 32

LIMB_BITS = 44
LIMBS = 4
LEAST_BIT = 136
TOO_LARGE = LIMBS * LIMB_BITS - LEAST_BIT
MASK = (1 << LIMB_BITS) - 1

# Where a PE adds them up: for each sweep of a pass, COPIES times 8 int64 words, so that not all add to the same word.
BAD = LIMBS  # the word after the limbs counts bad segments
WORDS = 8
COPIES = 16
WORDS_BYTES = 8 * WORDS


def segment(dtype: str) -> int:
    """Columns of a segment."""
    return LANES * WIDTH[dtype] - 2 * EDGE


def unit(limb: int) -> float:
    """What limb number 0, 1, ... (the largest first) counts."""
    return 2.0 ** (LIMB_BITS * (LIMBS - 1 - limb) - LEAST_BIT)
