"""How the squares of a sweep's changes are added up: the same bits in any order, so on any number of PEs.

1. A lane is WIDTH columns that lie together.  Its changes d = new - old are squared and summed in the field's dtype:
   fma(d3,d3, fma(d2,d2, fma(d1,d1, d0*d0))) of either half of them, then both halves are added.
2. A segment is a row's columns k * SEGMENT .. (k+1) * SEGMENT - 1, the columns that one warp of a GPU keeps.  Its lanes
   are numbered from EDGE // WIDTH on, and are added in pairs 16 apart, then 8, 4, 2 and 1 (lanes that are not there: 0).
3. From here on all is exact.  A segment's sum is cut into LIMBS integers of LIMB_BITS bits, in units of
   2**(LIMB_BITS * k - LEAST_BIT), and integers are added up over segments, rows and PEs, the two halves of a limb in
   words of their own.  What is below 2**-LEAST_BIT is dropped.  A sum that is not a number, or is 2**TOO_LARGE or
   more, is counted instead: then the norm is NaN.

A segment adds less than 2**HALF_BITS to a word of 64 bits, so MOST_SEGMENTS of them (1e15 points of float32, 4.9e14 of
float64) can't wrap it, on however many PEs.  A warp cuts a limb in two after it has added up the rows of a chunk: that
adds less than 2**HALF_BITS a row as well, if the rows are MOST_CHUNK_ROWS at most, whose sum 63 bits hold.

A lane and a segment are the same for any number of sweeps in a pass, which is why their edges are the widest ever needed.
"""

from ..grid.problem import Problem

LANES = 32
EDGE = 8  # columns on either side of a warp that another warp keeps: so many sweeps may be in one pass
WIDTH = {"float32": 8, "float64": 4}  # columns of a lane: 32 bytes
LANE_BYTES = 32

LIMB_BITS = 44
LIMBS = 4
LEAST_BIT = 136
TOO_LARGE = LIMBS * LIMB_BITS - LEAST_BIT
HALF_BITS = LIMB_BITS // 2
HALF_MASK = (1 << HALF_BITS) - 1

# Where a PE adds them up: for each sweep of a pass, COPIES times WORDS int64 words, so that not all add to the same word.
# First the limbs' high halves, then the low ones: what a warp adds at a time is one sector of 32 bytes.
BAD = 2 * LIMBS  # the word after the limbs counts bad segments
WORDS = 16  # a cache line
COPIES = 8
WORDS_BYTES = 8 * WORDS

MOST_SEGMENTS = 1 << (64 - HALF_BITS)  # times 2**HALF_BITS: what a word holds
MOST_CHUNK_ROWS = 1 << (63 - LIMB_BITS)


def segment(dtype: str) -> int:
    """Columns of a segment."""
    return LANES * WIDTH[dtype] - 2 * EDGE


def refuse(problem: Problem) -> str:
    """Why the norm of this problem would not be exact, or ""."""
    columns = segment(problem.dtype)
    segments = (problem.ny - 2) * -(-problem.nx // columns)
    if segments <= MOST_SEGMENTS:
        return ""
    return (
        f"the norm of {problem.ny} x {problem.nx} points is the sum of {segments} segments of {columns} columns, and is "
        f"exact for at most {MOST_SEGMENTS}: use a smaller --nx or --ny"
    )


def unit(limb: int) -> float:
    """What limb number 0, 1, ... (the largest first) counts."""
    return 2.0 ** (LIMB_BITS * (LIMBS - 1 - limb) - LEAST_BIT)
