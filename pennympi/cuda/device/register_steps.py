"""The instructions that reduce in registers, for a dtype, an op and a number of PEs (``stubs.py`` names them)."""

from functools import cache
from typing import Any

from llvmlite import ir

from ...arrays.dtypes import DType
from ..compiler.gpu import cgutils, intrinsic, types
from .intrinsics import assembly
from .words import PAIR, Vectors, split

_I64 = ir.IntType(64)


@cache
def register_steps(dtype: DType, op: str, n_pes: int) -> dict[str, Any]:
    """The instructions that reduce in registers, by the names of their stubs (``stubs.py``)."""
    vectors = Vectors(dtype, op)
    return _steps_by_pe(vectors) | _folds(vectors, n_pes)


def _steps_by_pe(vectors: Vectors) -> dict[str, Any]:
    """``begin``, ``add``, ``end``, ``end_plus`` and ``plus_pair``, which take the pair of one PE."""
    partials = types.UniTuple(types.int64, vectors.n_words)

    @intrinsic
    def begin(typing, pair):
        def code(context, b, signature, args):
            return split(b, vectors.widened(b, args[0]), vectors.n_words)

        return partials(PAIR), code

    @intrinsic
    def add(typing, part, pair):
        def code(context, b, signature, args):
            x = vectors.widened(b, args[1])
            return split(b, vectors.combined(b, vectors.joined(b, args[0]), x), vectors.n_words)

        return partials(partials, PAIR), code

    @intrinsic
    def end(typing, part, n_pes):
        def code(context, b, signature, args):
            return vectors.ended(b, vectors.divided(b, vectors.joined(b, args[0]), args[1]))

        return PAIR(partials, types.int64), code

    @intrinsic
    def end_plus(typing, part, n_pes, pair):
        def code(context, b, signature, args):
            x = vectors.divided(b, vectors.joined(b, args[0]), args[1])
            return vectors.rounded(b, vectors.plus(b, x, vectors.widened(b, args[2])))

        return PAIR(partials, types.int64, PAIR), code

    @intrinsic
    def plus_pair(typing, x, y):
        def code(context, b, signature, args):
            return vectors.rounded(b, vectors.plus(b, vectors.widened(b, args[0]), vectors.widened(b, args[1])))

        return PAIR(PAIR, PAIR), code

    return {"begin": begin, "add": add, "end": end, "end_plus": end_plus, "plus_pair": plus_pair}


def _folds(vectors: Vectors, n_pes: int) -> dict[str, Any]:
    """``fold`` and ``fold_plus``, which take the pairs of ``n_pes`` PEs."""
    pairs_of_all = types.UniTuple(types.int64, 2 * n_pes)

    def folded(b, pairs, own, me):
        def widened(pe: int) -> ir.Value:
            is_own = b.icmp_signed("==", me, ir.Constant(_I64, pe))
            words = [
                b.select(is_own, cgutils.unpack_tuple(b, own)[k], cgutils.unpack_tuple(b, pairs)[2 * pe + k])
                for k in (0, 1)
            ]
            return vectors.widened(b, cgutils.pack_array(b, words))

        x = widened(0)
        for pe in range(1, n_pes):
            x = vectors.combined(b, x, widened(pe))
        return vectors.divided(b, x, ir.Constant(_I64, n_pes))

    @intrinsic
    def fold(typing, pairs, own, me):
        def code(context, b, signature, args):
            return vectors.ended(b, folded(b, *args))

        return PAIR(pairs_of_all, PAIR, types.int64), code

    @intrinsic
    def fold_plus(typing, pairs, own, me, pair):
        def code(context, b, signature, args):
            return vectors.rounded(b, vectors.plus(b, folded(b, *args[:3]), vectors.widened(b, args[3])))

        return PAIR(pairs_of_all, PAIR, types.int64, PAIR), code

    return {"fold": fold, "fold_plus": fold_plus}


MOST_TOGETHER = 8  # most PEs whose packets a thread holds at once in registers, 16 bytes each


@cache
def together(n_pes: int) -> dict[str, Any]:
    """``poll_all``, ``missing``, ``pair_of`` and ``TOGETHER`` for a team of ``n_pes`` PEs (``stubs.py``)."""
    pairs = types.UniTuple(types.int64, 2 * n_pes)

    @intrinsic
    def poll_all(typing, address, stride, me):
        def code(context, b, signature, args):
            ptx = (
                "{ .reg .pred other; setp.ne.s64 other, $3, $4; mov.b64 $0, 0; mov.b64 $1, 0; "
                "@other ld.relaxed.sys.global.v2.u64 {$0,$1}, [$2]; }"
            )
            kind, words = ir.LiteralStructType([_I64] * 2), []
            for pe in range(n_pes):
                source_address = b.add(args[0], b.mul(args[1], ir.Constant(_I64, pe)))
                operands = [source_address, args[2], ir.Constant(_I64, pe)]
                pair = assembly(b, kind, operands, ptx, "=&l,=&l,l,l,l,~{memory}")
                words += [b.extract_value(pair, k) for k in (0, 1)]
            return cgutils.pack_array(b, words)

        return pairs(types.int64, types.int64, types.int64), code

    @intrinsic
    def missing(typing, words, epoch, me):
        def code(context, b, signature, args):
            first_missing = ir.Constant(_I64, -1)
            for pe in reversed(range(n_pes)):
                number = ir.Constant(_I64, pe)
                old = b.icmp_signed("!=", cgutils.unpack_tuple(b, args[0])[2 * pe + 1], args[1])
                first_missing = b.select(b.and_(old, b.icmp_signed("!=", args[2], number)), number, first_missing)
            return first_missing

        return types.int64(pairs, types.int64, types.int64), code

    @intrinsic
    def pair_of(typing, words, pe):
        def code(context, b, signature, args):
            pair = [ir.Constant(_I64, 0)] * 2
            for source in range(n_pes):
                chosen = b.icmp_signed("==", args[1], ir.Constant(_I64, source))
                pair = [b.select(chosen, cgutils.unpack_tuple(b, args[0])[2 * source + k], pair[k]) for k in (0, 1)]
            return cgutils.pack_array(b, pair)

        return PAIR(pairs, types.int64), code

    tools = {"poll_all": poll_all, "missing": missing, "pair_of": pair_of}
    return {**tools, "TOGETHER": 3 <= n_pes <= MOST_TOGETHER}
