"""Reductions in the registers of a GPU: 16 bytes of elements, and the partials of these elements.

A thread's elements are a pair of int64 (16 bytes, as they were loaded); their partials are a pair, or two pairs for the
16-bit floats and averages of integers.
"""

from llvmlite import ir

from ...arrays.dtypes import DType
from ...compile import arithmetic
from ..compiler.gpu import cgutils, intrinsic, types
from .intrinsics import GLOBAL, assembly

_I32, _I64 = ir.IntType(32), ir.IntType(64)
PAIR = types.UniTuple(types.int64, 2)
_PACKED = {"f": "f16x2", "b": "bf16x2"}  # {kind of a 16-bit float dtype: suffix of its instructions}


def split(b: ir.IRBuilder, vector: ir.Value, n: int) -> ir.Value:
    """A vector of elements as a tuple of n int64."""
    words = b.bitcast(vector, ir.VectorType(_I64, n))
    return cgutils.pack_array(b, [b.extract_element(words, ir.Constant(ir.IntType(32), k)) for k in range(n)])


class Vectors:
    """The arithmetic of a dtype and op on 16 bytes of elements and their partials, both held as tuples of int64.

    width: number of elements of a vector;  n_words: number of int64 of its partials
    """

    def __init__(self, dtype: DType, op: str):
        self._dtype, self._op = dtype, op
        self._halves = dtype.kind in _PACKED and dtype.item_bytes == 2
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
        # Two elements at a time, from a word of 32 bits: vectors of 16-bit elements take more instructions and registers.
        words = _join(b, pair, 2, _I32, 4)
        return vector_of(b, [half for k in range(4) for half in self._two(b, _lane(b, words, k))])

    def _two(self, b: ir.IRBuilder, word: ir.Value) -> list[ir.Value]:
        """The partials of two 16-bit floats."""
        if self._dtype.kind == "b":
            bits = b.shl(word, ir.Constant(_I32, 16)), b.and_(word, ir.Constant(_I32, 0xFFFF0000))
            return [b.bitcast(half, ir.FloatType()) for half in bits]
        kind = ir.FunctionType(ir.LiteralStructType([ir.FloatType()] * 2), [_I32])
        code = "{ .reg .b16 low, high; mov.b32 {low, high}, $2; cvt.f32.f16 $0, low; cvt.f32.f16 $1, high; }"
        halves = b.call(ir.InlineAsm(kind, code, "=f,=f,r"), [word])
        return [b.extract_value(halves, k) for k in (0, 1)]

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
        """``rounded`` of a result of the op.  The minimum or maximum of bfloat16 values is one of these values, so the
        upper bits of the partial are exact; a NaN keeps its bits and becomes quiet."""
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
        """x + y of partials, never fused with a product before it: a CPU does not fuse them, and the bits would
        differ."""
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
    """A pair that the compiler can't split: otherwise it loads and stores small integers by 4 or 8 bytes."""
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


@intrinsic
def load_pair(typing, address):
    """16 aligned bytes as two int64."""

    def code(context, b, signature, args):
        return _read_pair(b, args[0])

    return PAIR(types.int64), code


@intrinsic
def store_pair(typing, address, pair):
    """Store two int64 in 16 aligned bytes."""

    def code(context, b, signature, args):
        _write_pair(b, *args)
        return context.get_dummy_value()

    return types.void(types.int64, PAIR), code


@intrinsic
def send_pair(typing, address, first, second):
    """Send two int64 in one 16-byte store that a polling peer sees."""

    def code(context, b, signature, args):
        assembly(b, ir.VoidType(), args, "st.relaxed.sys.global.v2.u64 [$0], {$1,$2};", "l,l,l,~{memory}")
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), code


@intrinsic
def poll_pair(typing, address):
    """Two int64 in one 16-byte load, read from memory each time."""

    def code(context, b, signature, args):
        kind = ir.LiteralStructType([_I64] * 2)
        pair = assembly(b, kind, args, "ld.relaxed.sys.global.v2.u64 {$0,$1}, [$2];", "=l,=l,l,~{memory}")
        return cgutils.pack_array(b, [b.extract_value(pair, k) for k in (0, 1)])

    return PAIR(types.int64), code
