"""The methods of llvmlite's IRBuilder that this library's instructions use, over MLIR's dialect ``llvm``.

A value is a ``Value``: MLIR's, and llvmlite's type of it.  A tuple of Numba is a Python tuple of them.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from llvmlite import ir
from numba_cuda_mlir._mlir import ir as mlir
from numba_cuda_mlir._mlir.dialects import func, llvm, scf
from numba_cuda_mlir.lowering_utilities import get_or_insert_function

_I64, _VECTOR_BYTES = ir.IntType(64), 16
DYNAMIC = -2147483648  # an index of a gep that is an operand
_FLOATS = {ir.HalfType: mlir.F16Type, ir.FloatType: mlir.F32Type, ir.DoubleType: mlir.F64Type}
_ORDERS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "uno": "no"}
_TAKE_FLAGS = ("add", "sub", "mul", "shl", "trunc")


class Value(NamedTuple):
    """MLIR's value, and llvmlite's type of it."""

    of_mlir: Any
    type: ir.Type


def mlir_type(t: ir.Type) -> Any:
    """An llvmlite type as MLIR's."""
    if isinstance(t, ir.IntType):
        return mlir.IntegerType.get_signless(t.width)
    if isinstance(t, ir.VectorType):
        return mlir.VectorType.get([t.count], mlir_type(t.element))
    if isinstance(t, ir.ArrayType):
        return llvm.ArrayType.get(mlir_type(t.element), t.count)
    if isinstance(t, ir.PointerType):
        return llvm.PointerType.get(t.addrspace)
    if isinstance(t, ir.LiteralStructType):
        return llvm.StructType.get_literal([mlir_type(one) for one in t.elements])
    return _FLOATS[type(t)].get()


def _attribute(t: ir.Type, value: Any) -> Any:
    """A number as the attribute of a constant."""
    if isinstance(value, ir.Constant):
        value = value.constant
    if isinstance(t, ir.VectorType):
        given = value if isinstance(value, list | tuple) else [value] * t.count
        return mlir.DenseElementsAttr.get([_attribute(t.element, one) for one in given], mlir_type(t))
    if not isinstance(t, ir.IntType):
        return mlir.FloatAttr.get(mlir_type(t), float(value))
    number = int(value) & ((1 << t.width) - 1)
    negative = t.width > 1 and number >> (t.width - 1)
    return mlir.IntegerAttr.get(mlir_type(t), number - (1 << t.width) if negative else number)


def item_bytes(t: ir.Type) -> int:
    """Bytes of a number or a vector."""
    if isinstance(t, ir.VectorType):
        return t.count * item_bytes(t.element)
    return mlir_type(t).width // 8


def _with_lanes_of(x: Value, scalar: ir.Type) -> ir.Type:
    return ir.VectorType(scalar, x.type.count) if isinstance(x.type, ir.VectorType) else scalar


def _operation(name: str) -> Callable[..., Any]:
    """An operation of two values of one type."""

    def method(self: "Builder", x: Any, y: Any) -> Value:
        flags = [llvm.IntegerOverflowFlags.none] * (name in _TAKE_FLAGS)
        return Value(getattr(llvm, name)(self.value(x), self.value(y), *flags), x.type)

    return method


def _conversion(name: str) -> Callable[..., Any]:
    def method(self: "Builder", x: Any, t: ir.Type) -> Value:
        flags = [llvm.IntegerOverflowFlags.none] * (name in _TAKE_FLAGS)
        return x if x.type == t else Value(getattr(llvm, name)(mlir_type(t), self.value(x), *flags), t)

    return method


def _comparison(operation: str, predicates: str, prefix: str) -> Callable[..., Any]:
    def method(self: "Builder", order: str, x: Any, y: Any) -> Value:
        word = _ORDERS[order] if operation == "icmp" and order in ("==", "!=") else prefix + _ORDERS[order]
        predicate = getattr(getattr(llvm, predicates), word)
        return Value(getattr(llvm, operation)(predicate, self.value(x), self.value(y)), _with_lanes_of(x, ir.IntType(1)))

    return method


class Builder:
    """A builder at MLIR's insertion point.

    module: llvmlite's, in which instructions look for globals and functions
    gpu_module: MLIR's, which gets those that are used
    """

    def __init__(self, gpu_module: Any):
        self.module, self._gpu_module = ir.Module(), gpu_module

    def value(self, x: Any) -> Any:
        """What MLIR takes for a value, a constant or a global of llvmlite."""
        if isinstance(x, Value):
            return x.of_mlir
        if isinstance(x, ir.GlobalVariable):
            return self._address(x)
        first = x.constant[0] if isinstance(x.constant, list | tuple) else x.constant
        if first is ir.Undefined or getattr(first, "constant", 0) is ir.Undefined:
            return llvm.mlir_undef(mlir_type(x.type))
        return llvm.mlir_constant(_attribute(x.type, x.constant))

    def _first(self, name: str) -> Any:
        """The insertion point of a global or function, or None if the module has it."""
        names = (op.attributes["sym_name"].value for op in self._body() if "sym_name" in op.attributes)
        return None if name in names else mlir.InsertionPoint.at_block_begin(self._body())

    def _body(self) -> Any:
        return self._gpu_module.regions[0].blocks[0]

    def _address(self, x: ir.GlobalVariable) -> Any:
        place = self._first(x.name)
        if place:
            with place:
                linkage = mlir.Attribute.parse(f"#llvm.linkage<{x.linkage or 'external'}>")
                space = mlir.IntegerAttr.get(mlir.IntegerType.get_signless(32), x.addrspace)
                size = mlir.IntegerAttr.get(mlir.IntegerType.get_signless(64), x.align)
                llvm.GlobalOp(mlir_type(x.value_type), x.name, linkage, addr_space=space, alignment=size)
        return llvm.mlir_addressof(llvm.PointerType.get(x.addrspace), x.name)

    # Arithmetic
    add, sub, mul = _operation("add"), _operation("sub"), _operation("mul")
    sdiv, udiv = _operation("sdiv"), _operation("udiv")
    and_, or_ = _operation("and_"), _operation("or_")
    shl, lshr = _operation("shl"), _operation("lshr")
    fadd, fmul, fdiv = _operation("fadd"), _operation("fmul"), _operation("fdiv")
    trunc, zext, sext = _conversion("trunc"), _conversion("zext"), _conversion("sext")
    fpext, fptrunc, sitofp = _conversion("fpext"), _conversion("fptrunc"), _conversion("sitofp")
    bitcast, inttoptr, ptrtoint = _conversion("bitcast"), _conversion("inttoptr"), _conversion("ptrtoint")
    icmp_signed = _comparison("icmp", "ICmpPredicate", "s")
    icmp_unsigned = _comparison("icmp", "ICmpPredicate", "u")
    fcmp_ordered = _comparison("fcmp", "FCmpPredicate", "o")
    fcmp_unordered = _comparison("fcmp", "FCmpPredicate", "u")

    def select(self, condition: Any, x: Any, y: Any) -> Value:
        return Value(llvm.select(self.value(condition), self.value(x), self.value(y)), x.type)

    @contextmanager
    def if_then(self, condition: Value) -> Iterator[None]:
        block = scf.IfOp(condition.of_mlir)
        with mlir.InsertionPoint(block.then_block):
            yield
            scf.YieldOp([])

    # Vectors, structs and tuples
    def extract_element(self, vector: Value, k: Any) -> Value:
        return Value(llvm.extractelement(vector.of_mlir, self.value(k)), vector.type.element)

    def insert_element(self, vector: Any, x: Any, k: Any) -> Value:
        return Value(llvm.insertelement(self.value(vector), self.value(x), self.value(k)), vector.type)

    def extract_value(self, whole: Any, k: int) -> Any:
        if not isinstance(whole, Value):
            return whole[k]
        t = whole.type.elements[k]
        return Value(llvm.extractvalue(mlir_type(t), whole.of_mlir, mlir.DenseI64ArrayAttr.get([k])), t)

    # Memory.  The compiler forgets an alignment, so what has less than its type's goes in parts.
    def load(self, pointer: Value, align: int | None = None) -> Value:
        t = pointer.type.pointee
        parts = self._parts(pointer, align)
        if not parts:
            return Value(llvm.load(mlir_type(t), pointer.of_mlir, alignment=align), t)
        whole = ir.IntType(8 * item_bytes(t))
        bits = whole(0)
        for start, part in parts:
            bits = self.or_(self.shl(self.zext(self.load(part), whole), whole(start)), bits)
        return self.bitcast(bits, t)

    def store(self, x: Any, pointer: Value, align: int | None = None) -> None:
        parts = self._parts(pointer, align)
        if not parts:
            llvm.store(self.value(x), pointer.of_mlir, alignment=align)
            return
        whole = ir.IntType(8 * item_bytes(x.type))
        for start, part in parts:
            self.store(self.trunc(self.lshr(self.bitcast(x, whole), whole(start)), part.type.pointee), part)

    def _parts(self, pointer: Value, align: int | None) -> list[tuple[int, Value]]:
        """(first bit, pointer) of each integer of ``align`` bytes; none where memory is aligned as its type."""
        n_bytes = item_bytes(pointer.type.pointee)
        if align is None or align >= min(n_bytes, _VECTOR_BYTES):
            return []
        t, at = ir.PointerType(ir.IntType(8 * align), pointer.type.addrspace), self.ptrtoint(pointer, _I64)
        return [(8 * k, self.inttoptr(self.add(at, _I64(k)), t)) for k in range(0, n_bytes, align)]

    def gep(self, pointer: Any, indices: list[Any], inbounds: bool = False) -> Value:
        t = pointer.type.pointee
        flags = llvm.GEPNoWrapFlags.inbounds if inbounds else llvm.GEPNoWrapFlags.none
        places, operands = [DYNAMIC] * len(indices), [self.value(one) for one in indices]
        found = llvm.getelementptr(
            llvm.PointerType.get(pointer.type.addrspace), self.value(pointer), operands, places, mlir_type(t), flags
        )
        return Value(found, ir.PointerType(t.gep(indices[-1]) if len(indices) > 1 else t, pointer.type.addrspace))

    # Calls
    def call(self, function: Any, args: list[Any]) -> Value | None:
        given, to = [self.value(one) for one in args], function.function_type.return_type
        result = None if isinstance(to, ir.VoidType) else mlir_type(to)
        if isinstance(function, ir.InlineAsm):
            found = llvm.inline_asm(
                result, given, function.asm, function.constraint, has_side_effects=function.side_effect or None
            )
        else:
            kind = mlir.FunctionType.get([one.type for one in given], [result] if result else [])
            get_or_insert_function(function.name, kind, self._gpu_module)
            found = func.call([result] if result else [], function.name, given)
        return Value(found, to) if result else None
