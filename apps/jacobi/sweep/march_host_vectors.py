"""LLVM code for ``march_host.py``: a whole segment of a row as vector instructions, and a fused multiply-add.

The order in which ``exact_sum.py`` adds the changes of a segment is one that a compiler does not find by itself.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ..norm.exact_sum import EDGE_COLUMNS, LANE_BYTES, LANE_COLUMNS, segment_columns

_I32, _I64 = ir.IntType(32), ir.IntType(64)
_SCALARS = {"float32": ir.FloatType(), "float64": ir.DoubleType()}
_HALF_LANES = 16  # of a warp: the first step of the sum over lanes adds the other 16


@intrinsic
def fused(typing, x, y, z):
    """x * y + z, rounded once."""

    def code(context, b, signature, args):
        return b.fma(*args)

    return x(x, x, x), code


class _Code:
    """Adds instructions on vectors of two lanes with builder ``b``."""

    def __init__(self, b: Any, dtype: str):
        self.b, self.width, self.item_bytes = b, LANE_COLUMNS[dtype], LANE_BYTES // LANE_COLUMNS[dtype]
        self.scalar = _SCALARS[dtype]
        self.vector = ir.VectorType(self.scalar, 2 * self.width)

    def place(self, base: Any, x: int) -> Any:
        """Pointer to the vector at column x after ``base``."""
        return self.b.inttoptr(self.b.add(base, _I64(x * self.item_bytes)), ir.PointerType(self.vector))

    def read(self, base: Any, x: int) -> Any:
        return self.b.load(self.place(base, x), align=self.item_bytes)

    def write(self, value: Any, base: Any, x: int) -> None:
        self.b.store(value, self.place(base, x), align=self.item_bytes)

    def shuffled(self, x: Any, y: Any, order: list[int]) -> Any:
        indices = ir.Constant(ir.VectorType(_I32, len(order)), [_I32(k) for k in order])
        return self.b.shuffle_vector(x, y, indices)

    def halves(self, x: Any, y: Any, size: int) -> tuple[Any, Any]:
        """The first and the second half of every ``size`` elements of x and y."""
        starts = range(0, 2 * x.type.count, size)
        low = [start + k for start in starts for k in range(size // 2)]
        return self.shuffled(x, y, low), self.shuffled(x, y, [k + size // 2 for k in low])

    def squares(self, low: Any, high: Any) -> Any:
        """high * high + low * low, the last product and the sum rounded once."""
        name = f"llvm.fma.v{low.type.count}f{8 * self.item_bytes}"
        fma = cgutils.get_or_insert_function(self.b.module, ir.FunctionType(low.type, [low.type] * 3), name)
        return self.b.call(fma, [high, high, self.b.fmul(low, low)])

    def lane_sums(self, changes: list[Any]) -> Any:
        """(16,) sums of the squares of 16 lanes, from eight vectors of changes."""
        vectors, size, add = changes, self.width, self.squares
        while size > 1:
            vectors = [add(*self.halves(x, y, size)) for x, y in zip(vectors[::2], vectors[1::2], strict=True)]
            size, add = size // 2, self.b.fadd
        while len(vectors) > 1:
            both = list(range(2 * vectors[0].type.count))
            vectors = [self.shuffled(x, y, both) for x, y in zip(vectors[::2], vectors[1::2], strict=True)]
        return vectors[0]

    def unless(self, fixed: Any, value: Any, old: Any, k: int) -> Any:
        """``value``, with element k of ``old`` where the condition ``fixed`` holds."""
        b = self.b
        chosen = b.select(fixed, b.extract_element(old, _I32(k)), b.extract_element(value, _I32(k)))
        return b.insert_element(value, chosen, _I32(k))

    def relax(self, addresses: list[Any], at: Any, nx: Any, columns: int) -> list[Any]:
        """Relax ``columns`` columns of a row from column ``at`` on; the vectors of their changes."""
        b, (new, above, row, below) = self.b, addresses
        quarter = ir.Constant(self.vector, [self.scalar(0.25)] * self.vector.count)
        changes = []
        for x in range(0, columns, self.vector.count):
            old, east, west = self.read(row, x), self.read(row, x + 1), self.read(row, x - 1)
            total = b.fadd(b.fadd(b.fadd(east, west), self.read(below, x)), self.read(above, x))
            value = b.fmul(quarter, total)
            if x == 0:
                value = self.unless(b.icmp_signed("==", at, _I64(0)), value, old, 0)
            if x + self.vector.count == columns:
                end = b.add(at, _I64(columns))
                value = self.unless(b.icmp_signed("==", end, nx), value, old, self.vector.count - 1)
            self.write(value, new, x)
            changes.append(b.fsub(value, old))
        return changes

    def segment_sum(self, changes: list[Any]) -> Any:
        """The sum of the squares of a segment's changes, in the order of a warp's lanes."""
        first = EDGE_COLUMNS // self.width
        changes = [*changes, *[ir.Constant(self.vector, None)] * 2]
        split = _HALF_LANES - first  # lanes of the segment whose number is below 16
        low, high = self.lane_sums(changes[:8]), self.lane_sums(changes[split // 2 : split // 2 + 8])
        none = ir.Constant(low.type, None)
        low = self.shuffled(low, none, [_HALF_LANES] * first + list(range(split)))
        high = self.shuffled(high, none, list(range(split % 2, _HALF_LANES)) + [_HALF_LANES] * (split % 2))
        far, total = _HALF_LANES, self.b.fadd(low, high)
        while far > 1:
            far //= 2
            first_half, other = list(range(far)), list(range(far, 2 * far))
            total = self.b.fadd(self.shuffled(total, total, first_half), self.shuffled(total, total, other))
        return self.b.extract_element(total, _I32(0))


def relax_segment_of(dtype: str) -> Any:
    """``march_host.relax_segment`` for a dtype, as an intrinsic of Numba."""
    number = getattr(types, dtype)

    @intrinsic
    def relax_segment(typing, rows, at, nx):
        def code(context, b, signature, args):
            maker, (rows, at, nx) = _Code(b, dtype), args
            addresses = cgutils.unpack_tuple(b, rows, 4)
            return maker.segment_sum(maker.relax(addresses, at, nx, segment_columns(dtype)))

        return number(rows, types.int64, types.int64), code

    return relax_segment
