"""``march`` on a CPU: T sweeps of a band of rows while they are in the cache.

Columns are cut into tiles, and the rows of a tile ripple through the T time levels as in ``warp_text.py``; the levels
between the first and the last have three scratch rows each.  A segment's new columns and the sum of their changes are
made together, in LLVM's vectors: the order of that sum (``limbs.py``) is one that a compiler does not find by itself.
"""

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from pennympi.kernels.block import load, real, store

from ..norm.add_exact import deposit
from ..norm.exact_sum import EDGE, LANE_BYTES, LANES, WIDTH, WORDS_BYTES, segment

TILE_SEGMENTS = 16  # of a tile: its scratch rows fit into the second cache
_I32, _I64 = ir.IntType(32), ir.IntType(64)


def scratch_bytes(sweeps: int, dtype: str) -> int:
    """What ``march`` needs at ``scratch``."""
    return 3 * sweeps * _scratch_pitch_bytes(dtype)


def _scratch_pitch_bytes(dtype: str) -> int:
    return TILE_SEGMENTS * segment(dtype) * (LANE_BYTES // WIDTH[dtype]) + 4 * EDGE * LANE_BYTES


# One row ------------------------------------------------------------------------------
# ``new`` is level s+1 of a row; ``above``, ``row`` and ``below`` are level s.  Addresses are those of column 0.


def relax(new, above, row, below, start, stop, nx):
    """Columns start..stop; the fixed ones stay.  The order of the additions is the sample's."""
    for x in range(max(start, 1), min(stop, nx - 1)):
        store(new, x, real(0.25) * (((load(row, x + 1) + load(row, x - 1)) + load(below, x)) + load(above, x)))
    if start == 0:
        store(new, 0, load(row, 0))
    if stop == nx:
        store(new, nx - 1, load(row, nx - 1))


def relax_and_sum(new, above, row, below, start, stop, nx, words, sums):
    """``relax``, and the changes to the words.  start: a segment's first column, stop: a segment's end or nx"""
    at = start
    while at + SEGMENT <= stop:
        offset = at * ITEM_BYTES
        total = relax_segment(new + offset, above + offset, row + offset, below + offset, at, nx)
        deposit(words, 1.0 * total)
        at += SEGMENT
    if at < stop:
        relax(new, above, row, below, at, stop, nx)
        deposit(words, 1.0 * short_sum(new, row, at, stop, sums))


def short_sum(new, row, start, stop, sums):
    """What the columns start..stop of a segment that ends early have changed.  sums: LANES elements of scratch"""
    for lane in range(LANES):
        x = start + (lane - FIRST_LANE) * LANE
        for k in range(LANE // 2):
            low = change(new, row, x + k, start, stop)
            high = change(new, row, x + k + LANE // 2, start, stop)
            store(sums, LANES + k, fused(high, high, low * low))
        if LANE == 8:
            add_pairs(sums, LANES, 2)
        add_pairs(sums, LANES, 1)
        store(sums, lane, load(sums, LANES))
    # One after the other: of a loop over these, unrolled, LLVM 20 makes additions that take values from before the last.
    add_pairs(sums, 0, 16)
    add_pairs(sums, 0, 8)
    add_pairs(sums, 0, 4)
    add_pairs(sums, 0, 2)
    add_pairs(sums, 0, 1)
    return load(sums, 0)


def change(new, row, x, start, stop):
    """What column x has changed, 0 outside start..stop."""
    return load(new, x) - load(row, x) if start <= x < stop else real(0.0)


def add_pairs(values, at, far):
    """Add ``far`` values to as many before them, from ``at`` on."""
    for k in range(at, at + far):
        store(values, k, load(values, k) + load(values, k + far))


# A band of rows -----------------------------------------------------------------------


def march(b, count, summed, new, old, first_row, stop_row, stride_rows, chunk_rows, nx, pitch_bytes, words, scratch):
    """See ``sweep.march``.  One block does it all."""
    row = first_row
    while row < stop_row and b == 0:
        stop = min(row + chunk_rows, stop_row)
        for left in range(0, nx, TILE):
            tile(count, summed, new, old, row, stop, left, min(left + TILE, nx), nx, pitch_bytes, words, scratch)
        row += stride_rows


def tile(count, summed, new, old, first_row, stop_row, left, right, nx, pitch_bytes, words, scratch):
    """Rows first_row..stop_row, columns left..right.  Level s needs one more row and column on each side than s+1."""
    sums = scratch
    levels = scratch + 2 * LANES * ITEM_BYTES + (EDGE - left) * ITEM_BYTES
    for front in range(first_row - count + 1, stop_row + count - 1):
        for s in range(1, count + 1):
            row, more = front - (s - 1), count - s
            if first_row - more <= row < stop_row + more:
                above = level(count, new, old, levels, s - 1, row - 1, pitch_bytes)
                centre = level(count, new, old, levels, s - 1, row, pitch_bytes)
                below = level(count, new, old, levels, s - 1, row + 1, pitch_bytes)
                target = level(count, new, old, levels, s, row, pitch_bytes)
                if s > count - summed and first_row <= row < stop_row:
                    if left > 0:
                        relax(target, above, centre, below, left - more, left, nx)
                    into = words + (s - 1) * WORDS_BYTES
                    relax_and_sum(target, above, centre, below, left, right, nx, into, sums)
                    if right < nx:
                        relax(target, above, centre, below, right, min(right + more, nx), nx)
                else:
                    relax(target, above, centre, below, max(left - more, 0), min(right + more, nx), nx)


def level(count, new, old, levels, s, row, pitch_bytes):
    """Address of column 0 of a row at level s: of the tile's scratch between the first level and the last."""
    if s == 0:
        return old + row * pitch_bytes
    if s == count:
        return new + row * pitch_bytes
    return levels + (3 * (s - 1) + row % 3) * SCRATCH_PITCH_BYTES


# Vectors ------------------------------------------------------------------------------


@intrinsic
def fused(typing, x, y, z):
    """x * y + z, rounded once."""

    def code(context, b, signature, args):
        return b.fma(*args)

    return x(x, x, x), code


def _relax_segment(dtype: str) -> Any:
    """A whole segment of a row, from column ``at`` on, as an instruction: relax it, and return the sum of its changes.

    The addresses are those of column ``at``.  A vector is two lanes; the sum halves lanes, then vectors.
    """
    columns = segment(dtype)
    number, item_bytes, width = getattr(types, dtype), LANE_BYTES // WIDTH[dtype], WIDTH[dtype]
    scalar = {"float32": ir.FloatType(), "float64": ir.DoubleType()}[dtype]
    vector, first = ir.VectorType(scalar, 2 * width), EDGE // width
    zeros = ir.Constant(vector, None)

    @intrinsic
    def instruction(typing, new, above, row, below, at, nx):
        def code(context, b, signature, args):
            new, above, row, below, at, nx = args

            def place(base: Any, x: int) -> Any:
                return b.inttoptr(b.add(base, _I64(x * item_bytes)), ir.PointerType(vector))

            def read(base: Any, x: int) -> Any:
                return b.load(place(base, x), align=item_bytes)

            def shuffled(x: Any, y: Any, order: list[int]) -> Any:
                return b.shuffle_vector(x, y, ir.Constant(ir.VectorType(_I32, len(order)), [_I32(k) for k in order]))

            def halves(x: Any, y: Any, size: int) -> tuple[Any, Any]:
                """The first and the second half of every ``size`` elements of x and y."""
                starts = range(0, 2 * x.type.count, size)
                low = [start + k for start in starts for k in range(size // 2)]
                return shuffled(x, y, low), shuffled(x, y, [k + size // 2 for k in low])

            def squares(low: Any, high: Any) -> Any:
                kind = ir.FunctionType(low.type, [low.type] * 3)
                fma = cgutils.get_or_insert_function(b.module, kind, f"llvm.fma.v{low.type.count}f{8 * item_bytes}")
                return b.call(fma, [high, high, b.fmul(low, low)])

            def lanes(vectors: list[Any]) -> Any:
                """(16,) sums of the lanes of eight vectors."""
                size, add = width, squares
                while size > 1:
                    vectors = [add(*halves(x, y, size)) for x, y in zip(vectors[::2], vectors[1::2], strict=True)]
                    size, add = size // 2, b.fadd
                while len(vectors) > 1:
                    both = list(range(2 * vectors[0].type.count))
                    vectors = [shuffled(x, y, both) for x, y in zip(vectors[::2], vectors[1::2], strict=True)]
                return vectors[0]

            def unless(fixed: Any, value: Any, old: Any, k: int) -> Any:
                """value, but for its element k where that column is fixed."""
                chosen = b.select(fixed, b.extract_element(old, _I32(k)), b.extract_element(value, _I32(k)))
                return b.insert_element(value, chosen, _I32(k))

            quarter = ir.Constant(vector, [scalar(0.25)] * vector.count)
            changes = []
            for x in range(0, columns, vector.count):
                old = read(row, x)
                total = b.fadd(b.fadd(b.fadd(read(row, x + 1), read(row, x - 1)), read(below, x)), read(above, x))
                value = b.fmul(quarter, total)
                if x == 0:
                    value = unless(b.icmp_signed("==", at, _I64(0)), value, old, 0)
                if x + vector.count == columns:
                    end = b.add(at, _I64(columns))
                    value = unless(b.icmp_signed("==", end, nx), value, old, vector.count - 1)
                b.store(value, place(new, x), align=item_bytes)
                changes.append(b.fsub(value, old))
            changes += [zeros] * 2
            split = 16 - first  # so many lanes have the numbers below 16
            low, high = lanes(changes[:8]), lanes(changes[split // 2 : split // 2 + 8])
            none = ir.Constant(low.type, None)
            low = shuffled(low, none, [16] * first + list(range(split)))
            high = shuffled(high, none, list(range(split % 2, 16)) + [16] * (split % 2))
            far, total = 16, b.fadd(low, high)
            while far > 1:
                far //= 2
                first_half, other = list(range(far)), list(range(far, 2 * far))
                total = b.fadd(shuffled(total, total, first_half), shuffled(total, total, other))
            return b.extract_element(total, _I32(0))

        return number(*(types.int64,) * 6), code

    return instruction


@cache
def made(sweeps: int, norms: str, dtype: str, nx: int) -> Callable[..., None]:
    """``march`` for a dtype.  It serves any number of sweeps, all norms and all widths."""
    del sweeps, norms, nx
    scope = {
        **globals(),
        "LANE": WIDTH[dtype],
        "FIRST_LANE": EDGE // WIDTH[dtype],
        "ITEM_BYTES": LANE_BYTES // WIDTH[dtype],
        "SEGMENT": segment(dtype),
        "TILE": TILE_SEGMENTS * segment(dtype),
        "SCRATCH_PITCH_BYTES": _scratch_pitch_bytes(dtype),
        "relax_segment": _relax_segment(dtype),
    }
    for function in (relax, change, add_pairs, short_sum, relax_and_sum, level, tile, march):
        clone = FunctionType(function.__code__, scope, function.__name__)
        clone.__module__ = __name__
        scope[function.__name__] = clone
    return scope["march"]
