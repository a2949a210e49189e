"""Element arithmetic as LLVM IR, the same for both backends.

Both compilers take llvmlite IR, so one description of each dtype and op serves
both: the same bits come out of a CPU and a GPU.  Values are LLVM vectors of
``width`` elements (or scalars when width is 1).
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
OF_PARTIALS = {
    "reduce_partials": "reduce",
    "reduce_partials_and_round": "reduce_and_round",
}  # steps whose src is partials: the same step on elements
TO_ELEMENTS = ("reduce_and_round", "reduce_partials_and_round", "plus")  # steps that round to elements
# Two more for AllReduce with a residual, on a CPU: finish without rounding, and the sum of elements at part and src.
CLOSE, PLUS = "close", "plus"


def step_bytes(step: str, dtype: DType) -> tuple[int, int]:
    """Bytes of one (element or partial of dst, of src) of a step; ``part`` holds partials, but for ``PLUS``."""
    item_bytes, acc_bytes = dtype.item_bytes, dtype.acc_bytes
    return item_bytes if step in TO_ELEMENTS else acc_bytes, acc_bytes if step in OF_PARTIALS else item_bytes


def of_width(scalar: ir.Type, width: int) -> ir.Type:
    """The type of a vector; for a width of 1 the scalar."""
    return scalar if width == 1 else ir.VectorType(scalar, width)


def element_type(dtype: DType) -> ir.Type:
    """LLVM type of one stored element (bfloat16: its 16 bits)."""
    return _SCALARS.get((dtype.kind, dtype.item_bytes)) or ir.IntType(8 * dtype.item_bytes)


def partial_type(dtype: DType) -> ir.Type:
    """LLVM type of one partial: float for the 16-bit floats."""
    return ir.FloatType() if dtype.acc_bytes != dtype.item_bytes else element_type(dtype)


def splat(b: ir.IRBuilder, scalar: ir.Value, width: int) -> ir.Value:
    """A vector of one value; for a width of 1 the value."""
    if width == 1:
        return scalar
    vector = ir.Constant(ir.VectorType(scalar.type, width), ir.Undefined)
    for lane in range(width):
        vector = b.insert_element(vector, scalar, ir.Constant(ir.IntType(32), lane))
    return vector


def _constant(scalar: ir.Type, value: Any, width: int) -> ir.Constant:
    constant = ir.Constant(scalar, value)
    return constant if width == 1 else ir.Constant(ir.VectorType(scalar, width), [constant] * width)


def load(b: ir.IRBuilder, address: ir.Value, scalar: ir.Type, width: int, align: int, space: int) -> ir.Value:
    """Elements at an int64 address."""
    pointer = b.inttoptr(address, ir.PointerType(of_width(scalar, width), space))
    return b.load(pointer, align=align)


def store(b: ir.IRBuilder, address: ir.Value, value: ir.Value, align: int, space: int) -> None:
    """Elements to an int64 address."""
    b.store(value, b.inttoptr(address, ir.PointerType(value.type, space)), align=align)


def _lane_by_lane(b: ir.IRBuilder, convert: Any, x: ir.Value, scalar: ir.Type, width: int) -> ir.Value:
    """``convert`` on one element after another: NVVM converts whole vectors of half wrongly."""
    vector = ir.Constant(ir.VectorType(scalar, width), ir.Undefined)
    for k in range(width):
        lane = ir.Constant(ir.IntType(32), k)
        vector = b.insert_element(vector, convert(b.extract_element(x, lane), scalar), lane)
    return vector


def to_partials(b: ir.IRBuilder, dtype: DType, x: ir.Value, width: int) -> ir.Value:
    """Elements to partials; exact."""
    if dtype.item_bytes == dtype.acc_bytes:
        return x
    if dtype.kind == "f" and width > 1:
        return _lane_by_lane(b, b.fpext, x, ir.FloatType(), width)
    if dtype.kind == "f":
        return b.fpext(x, ir.FloatType())
    word = ir.IntType(32)  # a bfloat16 is the upper half of a float32
    return b.bitcast(b.shl(b.zext(x, of_width(word, width)), _constant(word, 16, width)), of_width(ir.FloatType(), width))


def narrow(b: ir.IRBuilder, dtype: DType, x: ir.Value, width: int) -> ir.Value:
    """Partials to elements, rounded to nearest even."""
    if dtype.item_bytes == dtype.acc_bytes:
        return x
    if dtype.kind == "f" and width > 1:
        return _lane_by_lane(b, b.fptrunc, x, ir.HalfType(), width)
    if dtype.kind == "f":
        return b.fptrunc(x, ir.HalfType())
    word = ir.IntType(32)

    def of(value: int) -> ir.Constant:
        return _constant(word, value, width)

    bits = b.bitcast(x, of_width(word, width))
    odd = b.and_(b.lshr(bits, of(16)), of(1))
    rounded = b.lshr(b.add(b.add(bits, of(0x7FFF)), odd), of(16))
    quiet = b.or_(b.lshr(bits, of(16)), of(0x40))  # rounding could turn a NaN into infinity
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
    """Partials over the int64 ``n``; integers are truncated toward zero."""
    scalar = partial_type(dtype)
    if dtype.kind in "fb":
        return b.fdiv(x, splat(b, b.sitofp(n, scalar), width))
    signed, wide = dtype.kind == "i", ir.IntType(max(32, scalar.width))  # n may not fit 8 bits
    if wide != scalar:
        x = (b.sext if signed else b.zext)(x, of_width(wide, width))
    divisor = splat(b, b.trunc(n, wide) if wide.width < 64 else n, width)
    if wide == scalar or width == 1:
        quotient = (b.sdiv if signed else b.udiv)(x, divisor)
        return quotient if wide == scalar else b.trunc(quotient, of_width(scalar, width))
    # One by one: NVVM narrows the division of a vector to 8-bit shifts and loses the sign of every other element.
    result = ir.Constant(of_width(scalar, width), ir.Undefined)
    for k in range(width):
        lane = ir.Constant(ir.IntType(32), k)
        quotient = (b.sdiv if signed else b.udiv)(b.extract_element(x, lane), b.extract_element(divisor, lane))
        result = b.insert_element(result, b.trunc(quotient, scalar), lane)
    return result


@dataclass(frozen=True)
class Step:
    """One step of a reduction on ``width`` elements.

    name:  of the primitive (``kernels/block.py``), ``CLOSE`` or ``PLUS``
    align: what (elements, partials) are aligned to, in bytes
    space: LLVM address space of the memory
    whole: a backend's own way to ``read`` and ``write`` a vector of elements, if it has one
    """

    name: str
    dtype: DType
    op: str
    width: int
    align: tuple[int, int]
    space: int = 0
    whole: Any = None


def _of_partials(step: Step, partials: bool) -> bool:
    """Whether what lies in memory is wider than elements."""
    return partials and step.dtype.acc_bytes != step.dtype.item_bytes


def _read(b: ir.IRBuilder, step: Step, address: ir.Value, partials: bool) -> ir.Value:
    """Partials in memory, or those of the elements there."""
    dtype, width, (item_align, part_align) = step.dtype, step.width, step.align
    if _of_partials(step, partials):
        return load(b, address, partial_type(dtype), width, part_align, step.space)
    if step.whole:
        return step.whole.read(b, address)
    return to_partials(b, dtype, load(b, address, element_type(dtype), width, item_align, step.space), width)


def _write(b: ir.IRBuilder, step: Step, address: ir.Value, x: ir.Value, partials: bool) -> None:
    """Partials to memory, as they are or as elements."""
    if _of_partials(step, partials):
        store(b, address, x, step.align[1], step.space)
    elif step.whole:
        step.whole.write(b, address, x)
    else:
        store(b, address, narrow(b, step.dtype, x, step.width), step.align[0], step.space)


def apply(b: ir.IRBuilder, step: Step, dst: ir.Value, part: ir.Value, src: ir.Value, n_pes: ir.Value) -> None:
    """One step at int64 addresses."""
    name, dtype, op = step.name, step.dtype, step.op
    x = _read(b, step, src, name in OF_PARTIALS)
    if name != "to_partials":
        x = combine(b, dtype, op, _read(b, step, part, name != PLUS), x)
    if op == "avg" and name in (*TO_ELEMENTS, CLOSE):
        x = divide(b, dtype, x, n_pes, step.width)
    _write(b, step, dst, x, name not in TO_ELEMENTS)
