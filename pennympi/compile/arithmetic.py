"""Element arithmetic as LLVM IR, the same for both backends.

Both compilers take the IR of llvmlite, so one description of each dtype and op gives the same bits on a CPU and a GPU.
Values are LLVM vectors of ``width`` elements, or scalars if the width is 1.
"""

from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from ..arrays.dtypes import DType

_SCALARS: dict[tuple[str, int], ir.Type] = {
    ("f", 2): ir.HalfType(),
    ("f", 4): ir.FloatType(),
    ("f", 8): ir.DoubleType(),
    ("b", 2): ir.IntType(16),
}

STEPS = ("to_partials", "reduce", "reduce_and_round", "reduce_partials", "reduce_partials_and_round")
# Steps whose src holds partials, and the same steps on elements.
OF_PARTIALS = {"reduce_partials": "reduce", "reduce_partials_and_round": "reduce_and_round"}
TO_ELEMENTS = ("reduce_and_round", "reduce_partials_and_round", "plus")  # steps that round to elements
# Two more steps for AllReduce with a residual on a CPU: ``reduce_and_round`` without the rounding, and the rounded sum of
# the elements at part and src.
REDUCE_AND_DIVIDE, PLUS = "reduce_and_divide", "plus"


def step_bytes(step: str, dtype: DType) -> tuple[int, int]:
    """Bytes of an element or partial of (dst, src) of a step.  ``part`` holds partials, except for ``PLUS``."""
    item_bytes, acc_bytes = dtype.item_bytes, dtype.acc_bytes
    return item_bytes if step in TO_ELEMENTS else acc_bytes, acc_bytes if step in OF_PARTIALS else item_bytes


def of_width(scalar: ir.Type, width: int) -> ir.Type:
    """The type of a vector, or the scalar type if the width is 1."""
    return scalar if width == 1 else ir.VectorType(scalar, width)


def element_type(dtype: DType) -> ir.Type:
    """LLVM type of a stored element (bfloat16: its 16 bits)."""
    return _SCALARS.get((dtype.kind, dtype.item_bytes)) or ir.IntType(8 * dtype.item_bytes)


def partial_type(dtype: DType) -> ir.Type:
    """LLVM type of a partial: float for the 16-bit floats, a wider integer for averages of integers."""
    if dtype.kind in "iu":
        return ir.IntType(8 * dtype.acc_bytes)
    return ir.FloatType() if dtype.acc_bytes != dtype.item_bytes else element_type(dtype)


def splat(b: ir.IRBuilder, scalar: ir.Value, width: int) -> ir.Value:
    """A vector of ``width`` elements that all are ``scalar``; the scalar itself if the width is 1."""
    if width == 1:
        return scalar
    vector = ir.Constant(ir.VectorType(scalar.type, width), ir.Undefined)
    for lane in range(width):
        vector = b.insert_element(vector, scalar, ir.Constant(ir.IntType(32), lane))
    return vector


def _constant(scalar: ir.Type, value: Any, width: int) -> ir.Constant:
    constant = ir.Constant(scalar, value)
    return constant if width == 1 else ir.Constant(ir.VectorType(scalar, width), [constant] * width)


def _lane_by_lane(b: ir.IRBuilder, convert: Any, scalar: ir.Type, *values: ir.Value) -> ir.Value:
    """``convert`` of each element of vectors, or of scalars: NVVM compiles some operations on vectors wrongly."""
    if not isinstance(values[0].type, ir.VectorType):
        return convert(*values)
    result = ir.Constant(ir.VectorType(scalar, values[0].type.count), ir.Undefined)
    for k in range(values[0].type.count):
        lane = ir.Constant(ir.IntType(32), k)
        result = b.insert_element(result, convert(*(b.extract_element(value, lane) for value in values)), lane)
    return result


def to_partials(b: ir.IRBuilder, dtype: DType, x: ir.Value, width: int) -> ir.Value:
    """Convert elements to partials, exactly."""
    if dtype.item_bytes == dtype.acc_bytes:
        return x
    if dtype.kind in "iu":
        return (b.sext if dtype.kind == "i" else b.zext)(x, of_width(partial_type(dtype), width))
    if dtype.kind == "f":
        return _lane_by_lane(b, lambda half: b.fpext(half, ir.FloatType()), ir.FloatType(), x)
    word = ir.IntType(32)  # a bfloat16 is the upper half of a float32
    return b.bitcast(b.shl(b.zext(x, of_width(word, width)), _constant(word, 16, width)), of_width(ir.FloatType(), width))


def narrow(b: ir.IRBuilder, dtype: DType, x: ir.Value, width: int) -> ir.Value:
    """Convert partials to elements; floats are rounded to nearest even."""
    if dtype.item_bytes == dtype.acc_bytes:
        return x
    if dtype.kind in "iu":
        return b.trunc(x, of_width(element_type(dtype), width))
    if dtype.kind == "f":
        return _lane_by_lane(b, lambda partial: b.fptrunc(partial, ir.HalfType()), ir.HalfType(), x)
    word = ir.IntType(32)

    def bits_of(value: int) -> ir.Constant:
        return _constant(word, value, width)

    bits = b.bitcast(x, of_width(word, width))
    odd = b.and_(b.lshr(bits, bits_of(16)), bits_of(1))
    rounded = b.lshr(b.add(b.add(bits, bits_of(0x7FFF)), odd), bits_of(16))
    quiet = b.or_(b.lshr(bits, bits_of(16)), bits_of(0x40))  # rounding could turn a NaN into infinity
    return b.trunc(b.select(b.fcmp_unordered("uno", x, x), quiet, rounded), of_width(ir.IntType(16), width))


def combine(b: ir.IRBuilder, dtype: DType, op: str, x: ir.Value, y: ir.Value) -> ir.Value:
    """op(x, y) of partials.  A NaN in either operand of min or max is the result."""
    floating = dtype.kind in "fb"
    if op in ("sum", "avg"):
        return b.fadd(x, y) if floating else b.add(x, y)
    if op == "prod":
        return b.fmul(x, y) if floating else b.mul(x, y)
    order = "<" if op == "min" else ">"
    if floating:
        return b.select(b.or_(b.fcmp_unordered("uno", x, x), b.fcmp_ordered(order, x, y)), x, y)
    compare = b.icmp_signed if dtype.kind == "i" else b.icmp_unsigned
    return b.select(compare(order, x, y), x, y)


def divide(b: ir.IRBuilder, dtype: DType, x: ir.Value, n: ir.Value, width: int) -> ir.Value:
    """Divide partials by the int64 ``n``.  Quotients of integers are truncated toward zero."""
    scalar = partial_type(dtype)
    if dtype.kind in "fb":
        return b.fdiv(x, splat(b, b.sitofp(n, scalar), width))
    if scalar.width == 128:
        return _lane_by_lane(b, lambda partial: _divide_128(b, dtype, partial, n), scalar, x)
    signed, wide = dtype.kind == "i", ir.IntType(max(32, scalar.width))  # n may not fit 8 bits
    if wide != scalar:
        x = (b.sext if signed else b.zext)(x, of_width(wide, width))
    divisors = splat(b, b.trunc(n, wide) if wide.width < 64 else n, width)
    quotient = b.sdiv if signed else b.udiv
    if wide == scalar:
        return quotient(x, divisors)
    # NVVM narrows the division of a vector to 8-bit shifts and loses the sign of every second element.
    return _lane_by_lane(b, lambda dividend, divisor: b.trunc(quotient(dividend, divisor), scalar), scalar, x, divisors)


def _divide_128(b: ir.IRBuilder, dtype: DType, x: ir.Value, n: ir.Value) -> ir.Value:
    """The sum of n 64-bit integers, divided by n < 2**31: compilers have no 128-bit division without a library.

    It is a long division with two digits of 32 bits.  The first digit is below 2**32 because the quotient has 64 bits.
    """
    word, wide = ir.IntType(64), x.type
    half = ir.Constant(word, 32)
    negative = b.icmp_signed("<", x, wide(0)) if dtype.kind == "i" else ir.Constant(ir.IntType(1), 0)
    size = b.select(negative, b.neg(x), x)
    high, low = b.trunc(b.lshr(size, wide(64)), word), b.trunc(size, word)
    first = b.or_(b.shl(high, half), b.lshr(low, half))
    second = b.or_(b.shl(b.urem(first, n), half), b.and_(low, word(0xFFFFFFFF)))
    quotient = b.zext(b.or_(b.shl(b.udiv(first, n), half), b.udiv(second, n)), wide)
    return b.select(negative, b.neg(quotient), quotient)


@dataclass(frozen=True)
class Step:
    """A step of a reduction on ``width`` elements.

    name:  name of the primitive (``kernels/block.py``), ``REDUCE_AND_DIVIDE`` or ``PLUS``
    align: alignment of (elements, partials), in bytes
    space: LLVM address space of the memory
    whole: an object of the backend that can ``read`` and ``write`` vectors of elements, or None
    """

    name: str
    dtype: DType
    op: str
    width: int
    align: tuple[int, int]
    space: int = 0
    whole: Any = None


def _read(b: ir.IRBuilder, step: Step, address: ir.Value, partials: bool) -> ir.Value:
    """Load partials, or elements converted to partials."""
    dtype = step.dtype
    is_wider = partials and dtype.acc_bytes != dtype.item_bytes
    if step.whole and not is_wider:
        return step.whole.read(b, address)
    kind = of_width(partial_type(dtype) if is_wider else element_type(dtype), step.width)
    x = b.load(b.inttoptr(address, ir.PointerType(kind, step.space)), align=step.align[is_wider])
    return x if is_wider else to_partials(b, dtype, x, step.width)


def _write(b: ir.IRBuilder, step: Step, address: ir.Value, x: ir.Value, partials: bool) -> None:
    """Store partials, or the elements that they are rounded to."""
    dtype = step.dtype
    is_wider = partials and dtype.acc_bytes != dtype.item_bytes
    if step.whole and not is_wider:
        return step.whole.write(b, address, x)
    x = x if is_wider else narrow(b, dtype, x, step.width)
    b.store(x, b.inttoptr(address, ir.PointerType(x.type, step.space)), align=step.align[is_wider])


def apply(b: ir.IRBuilder, step: Step, dst: ir.Value, part: ir.Value, src: ir.Value, n_pes: ir.Value) -> None:
    """Run a step at int64 addresses."""
    name, dtype, op = step.name, step.dtype, step.op
    x = _read(b, step, src, name in OF_PARTIALS)
    if name != "to_partials":
        x = combine(b, dtype, op, _read(b, step, part, name != PLUS), x)
    if op == "avg" and name in (*TO_ELEMENTS, REDUCE_AND_DIVIDE):
        x = divide(b, dtype, x, n_pes, step.width)
    _write(b, step, dst, x, name not in TO_ELEMENTS)
