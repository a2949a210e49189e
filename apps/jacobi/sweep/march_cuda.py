"""``march`` on a GPU: device functions and intrinsics for the names that ``march_cuda_source.py`` calls.

Loads and stores are of 16 bytes.  The product with a quarter is inline PTX: a compiler would fuse an ordinary one with
the next sweep's addition, which gives other bits where numbers are denormal.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from llvmlite import ir
from numba import cuda
from numba.core import cgutils
from numba.cuda import types
from numba.cuda.extending import intrinsic

from pennympi.kernels.block import real  # noqa: F401  (the generated source calls it)

from ..norm.add_exact import LaneSum, add_exact_lane  # noqa: F401  (the generated source calls them)
from ..norm.exact_sum import INTEGER_BITS, LANE_BYTES, LANE_COLUMNS, LIMB_BITS
from .march_cuda_source import source

_I32, _I64, _DOUBLE = ir.IntType(32), ir.IntType(64), ir.DoubleType()
_GLOBAL = 1  # LLVM's address space of device memory
_ALL_LANES = 0xFFFFFFFF

# For any dtype --------------------------------------------------------------------------


def shift_down(x):
    """x of the next lane."""
    return cuda.shfl_down_sync(_ALL_LANES, x, 1)


def shift_up(x):
    """x of the lane before."""
    return cuda.shfl_up_sync(_ALL_LANES, x, 1)


def swap(x, far):
    """x of the lane whose number differs in the bits of ``far``."""
    return cuda.shfl_xor_sync(_ALL_LANES, x, far)


@intrinsic
def pick(typing, condition, x, y):
    """x where the condition holds, else y, without a branch."""
    kind = types.unliteral(x)

    def code(context, b, signature, args):
        return b.select(*args)

    return kind(types.boolean, kind, kind), code


@intrinsic
def within(typing, x, n):
    """Whether 0 <= x < n, in 32 bits."""

    def code(context, b, signature, args):
        return b.icmp_unsigned("<", b.trunc(args[0], _I32), b.trunc(args[1], _I32))

    return types.boolean(types.int64, types.int64), code


@intrinsic
def prefetch(typing, address):
    """Bring the cache line at ``address`` into the L2 cache."""

    def code(context, b, signature, args):
        _asm(b, ir.VoidType(), args, "prefetch.global.L2 [$0];", "l", side_effect=True)
        return context.get_dummy_value()

    return types.void(types.int64), code


def limb_scale(j):
    """The factor that moves the LIMB_BITS bits of limb j to just after the binary point of a sum."""
    scale = 1.0 / (1 << INTEGER_BITS)
    for _ in range(j):
        scale *= 1 << LIMB_BITS
    return scale


def between(x, low, high):
    """x, or the nearest of low and high."""
    return min(max(x, low), high)


def least(x, y):
    """The smaller of x and y."""
    return min(x, y)


def _asm(b: Any, result: Any, operands: Any, text: str, constraints: str, side_effect: bool = False) -> Any:
    kind = ir.FunctionType(result, [one.type for one in operands])
    return b.call(ir.InlineAsm(kind, text, constraints, side_effect=side_effect), operands)


# For one dtype --------------------------------------------------------------------------


@dataclass(frozen=True)
class _Dtype:
    """The field's dtype as Numba, LLVM and PTX name it."""

    name: str
    number: Any
    scalar: ir.Type
    suffix: str  # of a PTX instruction
    letter: str  # of an inline PTX operand
    quarter: str  # 0.25 as a PTX literal

    @property
    def half(self) -> int:
        """Columns of half a lane: a vector of 16 bytes."""
        return LANE_COLUMNS[self.name] // 2

    @property
    def vector(self) -> ir.VectorType:
        return ir.VectorType(self.scalar, self.half)

    def place(self, b: Any, address: Any, offset_bytes: int) -> Any:
        """Pointer to the vector ``offset_bytes`` after an address."""
        return b.inttoptr(b.add(address, ir.Constant(_I64, offset_bytes)), ir.PointerType(self.vector, _GLOBAL))


_DTYPES = {
    "float32": _Dtype("float32", types.float32, ir.FloatType(), "f32", "f", "0f3E800000"),
    "float64": _Dtype("float64", types.float64, _DOUBLE, "f64", "d", "0d3FD0000000000000"),
}


def _load_row(dtype: _Dtype) -> Any:
    @intrinsic
    def load_row(typing, address):
        """The lane's columns at ``address``."""

        def code(context, b, signature, args):
            vectors = [b.load(dtype.place(b, args[0], part * LANE_BYTES // 2), align=16) for part in (0, 1)]
            return cgutils.pack_array(b, [b.extract_element(v, _I32(k)) for v in vectors for k in range(dtype.half)])

        return types.UniTuple(dtype.number, 2 * dtype.half)(types.int64), code

    return load_row


def _store_half(dtype: _Dtype) -> Any:
    @intrinsic
    def store_half(typing, condition, address, values):
        """Store half a lane's columns (a tuple) at ``address``, where the condition holds."""

        def code(context, b, signature, args):
            vector = ir.Constant(dtype.vector, ir.Undefined)
            for k in range(dtype.half):
                vector = b.insert_element(vector, b.extract_value(args[2], k), _I32(k))
            with b.if_then(args[0]):
                b.store(vector, dtype.place(b, args[1], 0), align=16)
            return context.get_dummy_value()

        return types.void(types.boolean, types.int64, types.UniTuple(dtype.number, dtype.half)), code

    return store_half


def _quarter(dtype: _Dtype) -> Any:
    @intrinsic
    def quarter(typing, x):
        """0.25 * x, never fused with another operation."""

        def code(context, b, signature, args):
            text = f"mul.rn.{dtype.suffix} $0, $1, {dtype.quarter};"
            return _asm(b, dtype.scalar, args, text, f"={dtype.letter},{dtype.letter}")

        return dtype.number(dtype.number), code

    return quarter


def _fused(dtype: _Dtype) -> Any:
    @intrinsic
    def fused(typing, x, y, z):
        """x * y + z, rounded once."""

        def code(context, b, signature, args):
            constraints = ",".join([f"={dtype.letter}", *dtype.letter * 3])
            return _asm(b, dtype.scalar, args, f"fma.rn.{dtype.suffix} $0, $1, $2, $3;", constraints)

        return dtype.number(dtype.number, dtype.number, dtype.number), code

    return fused


def _too_large(dtype: _Dtype) -> Any:
    @intrinsic
    def too_large(typing, x):
        """Whether x is NaN or too large for the limbs."""

        def code(context, b, signature, args):
            return b.fcmp_unordered(">=", args[0], ir.Constant(dtype.scalar, 2.0**INTEGER_BITS))

        return types.boolean(dtype.number), code

    return too_large


def _limb_of(dtype: _Dtype) -> Any:
    @intrinsic
    def limb_of(typing, x, scale):
        """The LIMB_BITS bits after the binary point of ``x * scale``, as an int64; all steps are exact."""

        def code(context, b, signature, args):
            wide = args[0] if dtype.name == "float64" else b.fpext(args[0], _DOUBLE)
            text = (
                "{ .reg .f64 a, b; mul.rn.f64 a, $1, $2; cvt.rzi.f64.f64 b, a; sub.rn.f64 a, a, b; "
                f"mul.rn.f64 a, a, 0d{(1023 + LIMB_BITS) << 52:016X}; cvt.rzi.s64.f64 $0, a; }}"
            )
            return _asm(b, _I64, [wide, args[1]], text, "=l,d,d")

        return types.int64(dtype.number, types.float64), code

    return limb_of


_OF_DTYPE = {
    "load_row": _load_row,
    "store_half": _store_half,
    "quarter": _quarter,
    "fused": _fused,
    "too_large": _too_large,
    "limb_of": _limb_of,
}


@cache
def _intrinsics(dtype: str) -> dict[str, Any]:
    return {name: make(_DTYPES[dtype]) for name, make in _OF_DTYPE.items()}


@cache
def made(sweeps: int, norms: str, dtype: str, nx: int) -> Callable[..., None]:
    """``march`` for passes of ``sweeps`` sweeps of a field with nx columns.

    norms: the norms that a pass computes, "none", "last" (of the last sweep) or "all"
    Values of nx with the same (nx - 1) % LANE_COLUMNS share one machine code.
    """
    last_column = (nx - 1) % LANE_COLUMNS[dtype]
    name = f"march_{sweeps}_{norms}_{dtype}_{last_column}"
    scope: dict[str, Any] = {**globals(), **_intrinsics(dtype)}
    exec(compile(source(sweeps, norms, dtype, last_column, name), __file__, "exec"), scope)
    made: Callable[..., None] = scope[name]
    return made
