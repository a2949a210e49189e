"""How the squared changes of a sweep are added up: to the same bits in any order, hence on any number of PEs.

1. A lane holds LANE_COLUMNS adjacent columns, whose changes are d[k] = new - old.  With half = LANE_COLUMNS / 2 it
   computes p[k] = fma(d[k + half], d[k + half], d[k] * d[k]) for k < half, in the field's dtype, and then adds the p in
   pairs half / 2 apart, and so on down to one sum.
2. A segment is columns k * N .. (k+1) * N - 1 of a row, N = segment_columns(dtype): the columns that one warp of a GPU
   stores.  Its first column is in lane EDGE_COLUMNS // LANE_COLUMNS.  Lanes are added in pairs 16 apart, then 8, 4, 2
   and 1; lanes outside the segment or the grid count as 0.
3. All further additions are exact.  A segment's sum is cut into LIMBS integers ("limbs") of LIMB_BITS bits, in units of
   2**(LIMB_BITS * k - FRACTION_BITS), and these are added up over segments, rows and PEs.  Each half of a limb has an
   int64 word of its own.  Bits below 2**-FRACTION_BITS are dropped.  A sum that is NaN, or at least 2**INTEGER_BITS, is
   counted as bad instead, and makes the norm NaN.

A segment adds less than 2**HALF_BITS to a word of 64 bits, so MAX_SEGMENTS of them (1e15 points of float32, 4.9e14 of
float64) cannot overflow it, on any number of PEs.  A warp first adds the limbs of all rows of a chunk, in 63 bits, and
then cuts the sums into halves.  That adds less than 2**HALF_BITS a row too, for chunks of up to MAX_CHUNK_ROWS rows.

Lanes and segments do not depend on the number of sweeps in a pass: EDGE_COLUMNS is what the longest pass needs.
"""

from ..grid.problem import Problem

LANES = 32  # of a warp
LANE_BYTES = 32
LANE_COLUMNS = {"float32": 8, "float64": 4}
MAX_SWEEPS = 8  # of one pass over memory
EDGE_COLUMNS = MAX_SWEEPS  # at each side of a warp: every sweep spoils one, and the neighbouring warp stores them

LIMB_BITS = 44
LIMBS = 4
FRACTION_BITS = 136
INTEGER_BITS = LIMBS * LIMB_BITS - FRACTION_BITS
HALF_BITS = LIMB_BITS // 2
HALF_MASK = (1 << HALF_BITS) - 1

# The words that a PE adds to: WORDS int64 words in COPIES copies, which spread the atomic additions, for each sweep of a
# pass.  The high halves of all limbs come first, then the low ones: a warp adds to one sector of 32 bytes at a time.
BAD_WORD = 2 * LIMBS  # index of the word that counts bad segments
WORDS = 16  # one cache line
COPIES = 8
WORDS_BYTES = 8 * WORDS

MAX_SEGMENTS = 1 << (64 - HALF_BITS)
MAX_CHUNK_ROWS = 1 << (63 - LIMB_BITS)


def segment_columns(dtype: str) -> int:
    """Columns of a segment."""
    return LANES * LANE_COLUMNS[dtype] - 2 * EDGE_COLUMNS


def refuse(problem: Problem) -> str:
    """Why the norm of this problem would not be exact, or ""."""
    columns = segment_columns(problem.dtype)
    segments = (problem.ny - 2) * -(-problem.nx // columns)
    if segments <= MAX_SEGMENTS:
        return ""
    return (
        f"the norm of {problem.ny} x {problem.nx} points is the sum of {segments} segments of {columns} columns, and is "
        f"exact for at most {MAX_SEGMENTS}: use a smaller --nx or --ny"
    )


def limb_unit(limb: int) -> float:
    """The value of one unit of limb 0, 1, ... (the most significant limb first)."""
    return 2.0 ** (LIMB_BITS * (LIMBS - 1 - limb) - FRACTION_BITS)
