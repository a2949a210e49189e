"""Reductions in registers: 16 bytes of elements against their partials, on a GPU.

A thread's elements are a pair of int64 (16 bytes, as they were loaded); their
partials are the same, or two such pairs for the 16-bit floats.
"""

from functools import cache
from typing import Any

from llvmlite import ir
from numba.cuda import cgutils, types
from numba.cuda.extending import intrinsic

from ..arrays.dtypes import DType
from ..compile import arithmetic
from .intrinsics import GLOBAL

_I64 = ir.IntType(64)
PAIR = types.UniTuple(types.int64, 2)


def _join(b: ir.IRBuilder, value: ir.Value, n: int, element: ir.Type, width: int) -> ir.Value:
    """A tuple of n int64 as a vector of elements."""
    vector = ir.Constant(ir.VectorType(_I64, n), ir.Undefined)
    for k in range(n):
        vector = b.insert_element(vector, cgutils.unpack_tuple(b, value)[k], ir.Constant(ir.IntType(32), k))
    return b.bitcast(vector, ir.VectorType(element, width))


def split(b: ir.IRBuilder, vector: ir.Value, n: int) -> ir.Value:
    """A vector of elements as a tuple of n int64."""
    words = b.bitcast(vector, ir.VectorType(_I64, n))
    return cgutils.pack_array(b, [b.extract_element(words, ir.Constant(ir.IntType(32), k)) for k in range(n)])


@cache
def register_steps(dtype: DType, op: str, n_pes: int) -> dict[str, Any]:
    """As instructions: ``begin(pair)``, ``add(partials, pair)`` and ``end(partials, n_pes)``;
    ``fold(pairs, own, me)``, all of that for the pairs of ``n_pes`` PEs (see ``together``).

    ``end_plus(partials, n_pes, pair)`` and ``fold_plus(pairs, own, me, pair)`` add a pair before they round,
    ``plus_pair(pair, pair)`` adds two.
    """
    width = 16 // dtype.item_bytes
    n = width * dtype.acc_bytes // 8
    partials = types.UniTuple(types.int64, n)
    element, partial = arithmetic.element_type(dtype), arithmetic.partial_type(dtype)

    def widened(b, pair):
        return arithmetic.widen(b, dtype, _join(b, pair, 2, element, width), width)

    def rounded(b, x):
        return split(b, arithmetic.narrow(b, dtype, x, width), 2)

    def closed(b, x, n):
        return arithmetic.divide(b, dtype, x, n, width) if op == "avg" else x

    @intrinsic
    def begin(typing, pair):
        def code(context, b, signature, args):
            return split(b, widened(b, args[0]), n)

        return partials(PAIR), code

    @intrinsic
    def add(typing, part, pair):
        def code(context, b, signature, args):
            x = widened(b, args[1])
            return split(b, arithmetic.combine(b, dtype, op, _join(b, args[0], n, partial, width), x), n)

        return partials(partials, PAIR), code

    @intrinsic
    def end(typing, part, n_pes):
        def code(context, b, signature, args):
            return rounded(b, closed(b, _join(b, args[0], n, partial, width), args[1]))

        return PAIR(partials, types.int64), code

    @intrinsic
    def end_plus(typing, part, n_pes, pair):
        def code(context, b, signature, args):
            x = closed(b, _join(b, args[0], n, partial, width), args[1])
            return rounded(b, _plus(b, x, widened(b, args[2]), partial, width))

        return PAIR(partials, types.int64, PAIR), code

    @intrinsic
    def plus_pair(typing, x, y):
        def code(context, b, signature, args):
            return rounded(b, _plus(b, widened(b, args[0]), widened(b, args[1]), partial, width))

        return PAIR(PAIR, PAIR), code

    def folded(b, pairs, own, me):
        def of(pe: int) -> ir.Value:
            mine = b.icmp_signed("==", me, ir.Constant(_I64, pe))
            words = [
                b.select(mine, cgutils.unpack_tuple(b, own)[k], cgutils.unpack_tuple(b, pairs)[2 * pe + k])
                for k in (0, 1)
            ]
            return widened(b, cgutils.pack_array(b, words))

        x = of(0)
        for pe in range(1, n_pes):
            x = arithmetic.combine(b, dtype, op, x, of(pe))
        return closed(b, x, ir.Constant(_I64, n_pes))

    @intrinsic
    def fold(typing, pairs, own, me):
        def code(context, b, signature, args):
            return rounded(b, folded(b, *args))

        return PAIR(types.UniTuple(types.int64, 2 * n_pes), PAIR, types.int64), code

    @intrinsic
    def fold_plus(typing, pairs, own, me, pair):
        def code(context, b, signature, args):
            return rounded(b, _plus(b, folded(b, *args[:3]), widened(b, args[3]), partial, width))

        return PAIR(types.UniTuple(types.int64, 2 * n_pes), PAIR, types.int64, PAIR), code

    made = {"begin": begin, "add": add, "end": end, "fold": fold}
    return made | {"end_plus": end_plus, "plus_pair": plus_pair, "fold_plus": fold_plus}


def _plus(b: ir.IRBuilder, x: ir.Value, y: ir.Value, partial: ir.Type, width: int) -> ir.Value:
    """x + y of partials, never fused with a product before it: a CPU does not, and the bits would differ."""
    if isinstance(partial, ir.IntType):
        return b.add(x, y)
    name = "llvm.nvvm.add.rn." + ("f" if isinstance(partial, ir.FloatType) else "d")
    add = cgutils.get_or_insert_function(b.module, ir.FunctionType(partial, [partial] * 2), name)
    result = ir.Constant(ir.VectorType(partial, width), ir.Undefined)
    for k in range(width):
        lane = ir.Constant(ir.IntType(32), k)
        result = b.insert_element(result, b.call(add, [b.extract_element(x, lane), b.extract_element(y, lane)]), lane)
    return result


MOST_TOGETHER = 8  # PEs whose packets a thread holds at once: 16 bytes each, in registers


@cache
def together(n_pes: int) -> dict[str, Any]:
    """``poll_all(address, stride, me)``: the 16 bytes of every other PE, loads that do not wait for one another;
    ``missing(pairs, epoch, me)``: the first PE whose second word is not this epoch, or -1;
    ``pair_of(pairs, pe)``: those of one PE."""
    pairs = types.UniTuple(types.int64, 2 * n_pes)

    @intrinsic
    def poll_all(typing, address, stride, me):
        def code(context, b, signature, args):
            kind = ir.FunctionType(ir.LiteralStructType([_I64] * 2), [_I64] * 3)
            text = (
                "{ .reg .pred other; setp.ne.s64 other, $3, $4; mov.b64 $0, 0; mov.b64 $1, 0; "
                "@other ld.relaxed.sys.global.v2.u64 {$0,$1}, [$2]; }"
            )
            asm = ir.InlineAsm(kind, text, "=&l,=&l,l,l,l,~{memory}", side_effect=True)
            words = []
            for pe in range(n_pes):
                at = b.add(args[0], b.mul(args[1], ir.Constant(_I64, pe)))
                pair = b.call(asm, [at, args[2], ir.Constant(_I64, pe)])
                words += [b.extract_value(pair, k) for k in (0, 1)]
            return cgutils.pack_array(b, words)

        return pairs(types.int64, types.int64, types.int64), code

    @intrinsic
    def missing(typing, words, epoch, me):
        def code(context, b, signature, args):
            found = ir.Constant(_I64, -1)
            for pe in reversed(range(n_pes)):
                ctx = ir.Constant(_I64, pe)
                old = b.icmp_signed("!=", cgutils.unpack_tuple(b, args[0])[2 * pe + 1], args[1])
                found = b.select(b.and_(old, b.icmp_signed("!=", args[2], ctx)), ctx, found)
            return found

        return types.int64(pairs, types.int64, types.int64), code

    @intrinsic
    def pair_of(typing, words, pe):
        def code(context, b, signature, args):
            pair = [ir.Constant(_I64, 0)] * 2
            for other in range(n_pes):
                chosen = b.icmp_signed("==", args[1], ir.Constant(_I64, other))
                pair = [b.select(chosen, cgutils.unpack_tuple(b, args[0])[2 * other + k], pair[k]) for k in (0, 1)]
            return cgutils.pack_array(b, pair)

        return PAIR(pairs, types.int64), code

    tools = {"poll_all": poll_all, "missing": missing, "pair_of": pair_of}
    return {**tools, "TOGETHER": 3 <= n_pes <= MOST_TOGETHER}


@intrinsic
def load_pair(typing, address):
    """16 aligned bytes as two int64."""

    def code(context, b, signature, args):
        pointer = b.inttoptr(args[0], ir.PointerType(ir.VectorType(_I64, 2), GLOBAL))
        vector = b.load(pointer, align=16)
        return cgutils.pack_array(b, [b.extract_element(vector, ir.Constant(ir.IntType(32), k)) for k in (0, 1)])

    return PAIR(types.int64), code


@intrinsic
def store_pair(typing, address, pair):
    """Two int64 to 16 aligned bytes."""

    def code(context, b, signature, args):
        vector = ir.Constant(ir.VectorType(_I64, 2), ir.Undefined)
        for k, word in enumerate(cgutils.unpack_tuple(b, args[1])):
            vector = b.insert_element(vector, word, ir.Constant(ir.IntType(32), k))
        b.store(vector, b.inttoptr(args[0], ir.PointerType(vector.type, GLOBAL)), align=16)
        return context.get_dummy_value()

    return types.void(types.int64, PAIR), code


@intrinsic
def send_pair(typing, address, first, second):
    """Two int64 in one 16-byte store that a polling peer sees."""

    def code(context, b, signature, args):
        kind = ir.FunctionType(ir.VoidType(), [_I64] * 3)
        asm = ir.InlineAsm(kind, "st.relaxed.sys.global.v2.u64 [$0], {$1,$2};", "l,l,l,~{memory}", side_effect=True)
        b.call(asm, args)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), code


@intrinsic
def poll_pair(typing, address):
    """Two int64 in one 16-byte load, read anew each time."""

    def code(context, b, signature, args):
        kind = ir.FunctionType(ir.LiteralStructType([_I64] * 2), [_I64])
        asm = ir.InlineAsm(kind, "ld.relaxed.sys.global.v2.u64 {$0,$1}, [$2];", "=l,=l,l,~{memory}", side_effect=True)
        pair = b.call(asm, args)
        return cgutils.pack_array(b, [b.extract_value(pair, k) for k in (0, 1)])

    return PAIR(types.int64), code
