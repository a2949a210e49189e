"""Reductions in the registers of a GPU: 16 bytes of elements, and the partials of these elements.

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
from .intrinsics import GLOBAL, assembly

_I32, _I64 = ir.IntType(32), ir.IntType(64)
PAIR = types.UniTuple(types.int64, 2)
_PACKED = {"f": "f16x2", "b": "bf16x2"}  # by kind of a dtype of 16-bit floats


def split(b: ir.IRBuilder, vector: ir.Value, n: int) -> ir.Value:
    """A vector of elements as a tuple of n int64."""
    words = b.bitcast(vector, ir.VectorType(_I64, n))
    return cgutils.pack_array(b, [b.extract_element(words, ir.Constant(ir.IntType(32), k)) for k in range(n)])


class Vectors:
    """The arithmetic of a dtype and op on 16 bytes of elements and their partials, both held as tuples of int64.

    width: elements of a vector;  n_words: int64 of its partials
    """

    def __init__(self, dtype: DType, op: str):
        self._dtype, self._op = dtype, op
        self._halves = dtype.acc_bytes != dtype.item_bytes
        self._narrow = not self._halves and dtype.item_bytes < 4
        self.width = 16 // dtype.item_bytes
        self.n_words = self.width * dtype.acc_bytes // 8
        self._element, self._partial = arithmetic.element_type(dtype), arithmetic.partial_type(dtype)

    def read(self, b: ir.IRBuilder, address: ir.Value) -> ir.Value:
        """The vector of partials of 16 aligned bytes of elements."""
        return self.widened(b, _read_pair(b, address))

    def write(self, b: ir.IRBuilder, address: ir.Value, x: ir.Value) -> None:
        """Store a result of the op, partials, as 16 aligned bytes of elements."""
        _write_pair(b, address, self.ended(b, x))

    def joined(self, b: ir.IRBuilder, words: ir.Value) -> ir.Value:
        """The vector of partials in a tuple of n_words int64."""
        return _join(b, words, self.n_words, self._partial, self.width)

    def widened(self, b: ir.IRBuilder, pair: ir.Value) -> ir.Value:
        """The vector of partials of a pair of elements."""
        if self._narrow:
            pair = _hidden(b, pair)
        if not self._halves:
            return arithmetic.to_partials(b, self._dtype, _join(b, pair, 2, self._element, self.width), self.width)
        # Two at a time from a word of 32 bits: whole vectors of 16 bits take more instructions and registers.
        words = _join(b, pair, 2, _I32, 4)
        return vector_of(b, [half for k in range(4) for half in self._two(b, _lane(b, words, k))])

    def _two(self, b: ir.IRBuilder, word: ir.Value) -> list[ir.Value]:
        """The partials of two 16-bit floats."""
        if self._dtype.kind == "b":
            bits = b.shl(word, ir.Constant(_I32, 16)), b.and_(word, ir.Constant(_I32, 0xFFFF0000))
            return [b.bitcast(half, ir.FloatType()) for half in bits]
        kind = ir.FunctionType(ir.LiteralStructType([ir.FloatType()] * 2), [_I32])
        code = "{ .reg .b16 low, high; mov.b32 {low, high}, $2; cvt.f32.f16 $0, low; cvt.f32.f16 $1, high; }"
        both = b.call(ir.InlineAsm(kind, code, "=f,=f,r"), [word])
        return [b.extract_value(both, k) for k in (0, 1)]

    def combined(self, b: ir.IRBuilder, x: ir.Value, y: ir.Value) -> ir.Value:
        """op(x, y) of vectors of partials."""
        return arithmetic.combine(b, self._dtype, self._op, x, y)

    def divided(self, b: ir.IRBuilder, x: ir.Value, n_pes: ir.Value) -> ir.Value:
        """A vector of partials, divided by n_pes if the op is ``avg``."""
        return arithmetic.divide(b, self._dtype, x, n_pes, self.width) if self._op == "avg" else x

    def rounded(self, b: ir.IRBuilder, x: ir.Value) -> ir.Value:
        """A vector of partials as a pair of elements.  16-bit floats are rounded two at a time by one instruction, which
        rounds as ``arithmetic.narrow`` does, and turns every NaN into the NaN of GPU arithmetic."""
        if not self._halves:
            pair = split(b, arithmetic.narrow(b, self._dtype, x, self.width), 2)
            return _hidden(b, pair) if self._narrow else pair
        code = f"cvt.rn.{_PACKED[self._dtype.kind]}.f32 $0, $2, $1;"
        asm = ir.InlineAsm(ir.FunctionType(_I32, [ir.FloatType()] * 2), code, "=r,f,f")
        return split(b, vector_of(b, [b.call(asm, [_lane(b, x, k), _lane(b, x, k + 1)]) for k in range(0, 8, 2)]), 2)

    def ended(self, b: ir.IRBuilder, x: ir.Value) -> ir.Value:
        """``rounded`` of a result of the op.  The minimum or maximum of bfloat16 is one of them, so its upper bits are
        taken; a NaN keeps its bits, made quiet."""
        if self._dtype.kind != "b" or self._op not in ("min", "max"):
            return self.rounded(b, x)
        bits = b.bitcast(x, ir.VectorType(_I32, self.width))
        quiet = b.or_(bits, ir.Constant(bits.type, [0x400000] * self.width))
        bits = b.select(b.fcmp_unordered("uno", x, x), quiet, bits)
        words = []
        for k in range(0, self.width, 2):
            low, high = b.lshr(_lane(b, bits, k), ir.Constant(_I32, 16)), _lane(b, bits, k + 1)
            words.append(b.or_(low, b.and_(high, ir.Constant(_I32, 0xFFFF0000))))
        return split(b, vector_of(b, words), 2)

    def plus(self, b: ir.IRBuilder, x: ir.Value, y: ir.Value) -> ir.Value:
        """x + y of partials, never fused with a product before it: a CPU does not, and the bits would differ."""
        if isinstance(self._partial, ir.IntType):
            return b.add(x, y)
        name = "llvm.nvvm.add.rn." + ("f" if isinstance(self._partial, ir.FloatType) else "d")
        kind = ir.FunctionType(self._partial, [self._partial] * 2)
        add = cgutils.get_or_insert_function(b.module, kind, name)
        return vector_of(b, [b.call(add, [_lane(b, x, k), _lane(b, y, k)]) for k in range(self.width)])


def vector_of(b: ir.IRBuilder, lanes: list[ir.Value]) -> ir.Value:
    """Scalars of one type as a vector."""
    vector = ir.Constant(ir.VectorType(lanes[0].type, len(lanes)), ir.Undefined)
    for k, lane in enumerate(lanes):
        vector = b.insert_element(vector, lane, ir.Constant(_I32, k))
    return vector


def _hidden(b: ir.IRBuilder, pair: ir.Value) -> ir.Value:
    """A pair that the compiler can't take apart: else it would load and store small integers by 4 or 8 bytes."""
    asm = ir.InlineAsm(ir.FunctionType(_I64, [_I64]), "mov.b64 $0, $1;", "=l,l")
    return cgutils.pack_array(b, [b.call(asm, [word]) for word in cgutils.unpack_tuple(b, pair)])


def _lane(b: ir.IRBuilder, vector: ir.Value, k: int) -> ir.Value:
    return b.extract_element(vector, ir.Constant(_I32, k))


def _join(b: ir.IRBuilder, words: ir.Value, n: int, element: ir.Type, width: int) -> ir.Value:
    """A tuple of n int64 as a vector of elements."""
    return b.bitcast(vector_of(b, cgutils.unpack_tuple(b, words)[:n]), ir.VectorType(element, width))


def _read_pair(b: ir.IRBuilder, address: ir.Value) -> ir.Value:
    vector = b.load(b.inttoptr(address, ir.PointerType(ir.VectorType(_I64, 2), GLOBAL)), align=16)
    return split(b, vector, 2)


def _write_pair(b: ir.IRBuilder, address: ir.Value, pair: ir.Value) -> None:
    vector = vector_of(b, cgutils.unpack_tuple(b, pair))
    b.store(vector, b.inttoptr(address, ir.PointerType(vector.type, GLOBAL)), align=16)


@cache
def register_steps(dtype: DType, op: str, n_pes: int) -> dict[str, Any]:
    """The instructions that reduce in registers, by the names of their stubs (``stubs.py``)."""
    vectors = Vectors(dtype, op)
    return _steps_by_pe(vectors) | _folds(vectors, n_pes)


def _steps_by_pe(vectors: Vectors) -> dict[str, Any]:
    """``begin``, ``add``, ``end``, ``end_plus`` and ``plus_pair``: one PE's pair at a time."""
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
    """``fold`` and ``fold_plus``: the pairs of ``n_pes`` PEs at a time."""
    pairs_of_all = types.UniTuple(types.int64, 2 * n_pes)

    def folded(b, pairs, own, me):
        def widened(pe: int) -> ir.Value:
            mine = b.icmp_signed("==", me, ir.Constant(_I64, pe))
            words = [
                b.select(mine, cgutils.unpack_tuple(b, own)[k], cgutils.unpack_tuple(b, pairs)[2 * pe + k])
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


MOST_TOGETHER = 8  # PEs whose packets a thread holds at once: 16 bytes each, in registers


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
            both, words = ir.LiteralStructType([_I64] * 2), []
            for pe in range(n_pes):
                at = b.add(args[0], b.mul(args[1], ir.Constant(_I64, pe)))
                operands = [at, args[2], ir.Constant(_I64, pe)]
                pair = assembly(b, both, operands, ptx, "=&l,=&l,l,l,l,~{memory}")
                words += [b.extract_value(pair, k) for k in (0, 1)]
            return cgutils.pack_array(b, words)

        return pairs(types.int64, types.int64, types.int64), code

    @intrinsic
    def missing(typing, words, epoch, me):
        def code(context, b, signature, args):
            found = ir.Constant(_I64, -1)
            for pe in reversed(range(n_pes)):
                number = ir.Constant(_I64, pe)
                old = b.icmp_signed("!=", cgutils.unpack_tuple(b, args[0])[2 * pe + 1], args[1])
                found = b.select(b.and_(old, b.icmp_signed("!=", args[2], number)), number, found)
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
        return _read_pair(b, args[0])

    return PAIR(types.int64), code


@intrinsic
def store_pair(typing, address, pair):
    """Two int64 to 16 aligned bytes."""

    def code(context, b, signature, args):
        _write_pair(b, *args)
        return context.get_dummy_value()

    return types.void(types.int64, PAIR), code


@intrinsic
def send_pair(typing, address, first, second):
    """Two int64 in one 16-byte store that a polling peer sees."""

    def code(context, b, signature, args):
        assembly(b, ir.VoidType(), args, "st.relaxed.sys.global.v2.u64 [$0], {$1,$2};", "l,l,l,~{memory}")
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), code


@intrinsic
def poll_pair(typing, address):
    """Two int64 in one 16-byte load, read anew each time."""

    def code(context, b, signature, args):
        both = ir.LiteralStructType([_I64] * 2)
        pair = assembly(b, both, args, "ld.relaxed.sys.global.v2.u64 {$0,$1}, [$2];", "=l,=l,l,~{memory}")
        return cgutils.pack_array(b, [b.extract_value(pair, k) for k in (0, 1)])

    return PAIR(types.int64), code
