"""The values of eight groups (``kernels/sweep/norm.py``) at once, by shuffles that LLVM would not find by itself.

Half a group has 16 bytes, so a vector of 64 bytes holds four halves, in four places.  A transposition
moves element k of each half to vector k, at the place of the half.  Then the squares of the vectors are added up.
"""

from functools import cache
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ...arrays.dtypes import TABLE
from ...compile.arithmetic import element_type
from ...compile.unroll import Static
from ...kernels.sweep.norm import GROUP_BYTES

MOST_POINTS = 1024  # the most points of a call: their groups' values and five rows of the points fit into the L1 cache
VECTORS, VECTOR_BYTES = 4, 64
GROUPS = VECTORS * VECTOR_BYTES // GROUP_BYTES


@cache
def group_accessors(dtype: str) -> Static[tuple[Any, Any]]:
    """``room()``: address of stack memory of the calling function for the values of the groups of MOST_POINTS points.

    ``write_groups(values, new, old)``: write to ``values`` those of GROUPS groups, whose points begin at new and old.
    """
    element, item_bytes = element_type(TABLE[dtype]), TABLE[dtype].item_bytes
    n, half = VECTOR_BYTES // item_bytes, GROUP_BYTES // item_bytes // 2
    vector, most_groups = ir.VectorType(element, n), MOST_POINTS * item_bytes // GROUP_BYTES

    @intrinsic
    def room(typing):
        def code(context, b, signature, args):
            return b.ptrtoint(cgutils.alloca_once(b, ir.ArrayType(element, most_groups)), ir.IntType(64))

        return types.int64(), code

    @intrinsic
    def write_groups(typing, values, new, old):
        def code(context, b, signature, args):
            to, *rows = (b.inttoptr(arg, ir.PointerType(vector)) for arg in args)
            indices = [ir.Constant(ir.IntType(64), k) for k in range(VECTORS)]
            x, y = ([b.load(b.gep(row, [k]), align=item_bytes) for k in indices] for row in rows)
            changes = [b.fsub(*pair) for pair in zip(x, y, strict=True)]
            sums = [sum_of(b, changes[k : k + half]) for k in range(0, VECTORS, half)]
            first, second = (b.shuffle_vector(sums[0], sums[-1], mask(places_of(k))) for k in (0, 1))
            total = b.fadd(first, second)
            b.store(total, b.bitcast(to, ir.PointerType(total.type)), align=item_bytes)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 3), code

    def sum_of(b, changes):
        """``half_sum`` of each half.  The sum of the half at place p of vector k becomes element k of place p."""
        name = f"llvm.fma.v{n}f{8 * item_bytes}"
        fma = cgutils.get_or_insert_function(b.module, ir.FunctionType(vector, [vector] * 3), name)
        first, *rest = transposed(b, changes, 1)
        total = b.fmul(first, first)
        for x in rest:
            total = b.call(fma, (x, x, total))
        return total

    def transposed(b, vectors, width):
        """Vector k of the result has element k of all halves.  width: number of elements that are in order already"""
        if len(vectors) == 1:
            return vectors
        pairs = list(zip(vectors[::2], vectors[1::2], strict=True))
        lower, upper = ([b.shuffle_vector(*pair, mask(merged(width, k))) for pair in pairs] for k in (0, half // 2))
        return transposed(b, lower, 2 * width) + transposed(b, upper, 2 * width)

    def merged(width, start):
        """The mask that takes runs of ``width`` elements of two vectors in turn, from element ``start`` of each half."""
        runs = [n * (j // width % 2) + j // (2 * width) * width + j % width + start for j in range(half)]
        return [place + element for place in range(0, n, half) for element in runs]

    def places_of(side):
        """The mask that takes the sums of the first (0) or second (1) half of each group, two groups a vector."""
        return [(k // half) * n + (2 * (g % 2) + side) * half + k % half for g in range(GROUPS) for k in (g // 2,)]

    return room, write_groups


def mask(places):
    """The mask of a shuffle as a constant."""
    return ir.Constant(ir.VectorType(ir.IntType(32), len(places)), places)
