"""``march`` on a GPU: the words of ``warp_text.py`` as instructions.

Loads and stores are of 16 bytes.  The product with a quarter is inline PTX: an ordinary one would be fused with the
next sweep's additions, which gives other bits where numbers are denormal.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from llvmlite import ir
from numba import cuda
from numba.core import cgutils
from numba.cuda import types
from numba.cuda.extending import intrinsic

from pennympi.kernels.block import real  # noqa: F401  (a word of the text)

from ..norm.add_exact import deposit_lane  # noqa: F401  (a word of the text)
from ..norm.exact_sum import LANE_BYTES, LIMB_BITS, TOO_LARGE, WIDTH
from .warp_source import source

_I32, _I64 = ir.IntType(32), ir.IntType(64)
_GLOBAL = 1  # LLVM's address space of device memory
_EVERY_LANE = 0xFFFFFFFF


def shift_down(x):
    return cuda.shfl_down_sync(_EVERY_LANE, x, 1)


def shift_up(x):
    return cuda.shfl_up_sync(_EVERY_LANE, x, 1)


def swap(x, far):
    return cuda.shfl_xor_sync(_EVERY_LANE, x, far)


@intrinsic
def pick(typing, condition, x, y):
    """x where the condition holds, else y: no branch."""
    kind = types.unliteral(x)

    def code(context, b, signature, args):
        return b.select(*args)

    return kind(types.boolean, kind, kind), code


@intrinsic
def within(typing, x, n):
    """0 <= x < n, for 32 bits."""

    def code(context, b, signature, args):
        return b.icmp_unsigned("<", b.trunc(args[0], _I32), b.trunc(args[1], _I32))

    return types.boolean(types.int64, types.int64), code


@intrinsic
def fetch(typing, address):
    """Bring the line at ``address`` into the L2 cache."""

    def code(context, b, signature, args):
        _asm(b, ir.VoidType(), args, "prefetch.global.L2 [$0];", "l", side_effect=True)
        return context.get_dummy_value()

    return types.void(types.int64), code


def limb_scale(j):
    """What a sum is multiplied with, so that limb j is the first LIMB_BITS bits after the binary point."""
    scale = 1.0 / (1 << TOO_LARGE)
    for _ in range(j):
        scale *= 1 << LIMB_BITS
    return scale


def between(x, low, high):
    return min(max(x, low), high)


def least(x, y):
    return min(x, y)


def _asm(b: Any, result: Any, operands: Any, text: str, constraints: str, side_effect: bool = False) -> Any:
    kind = ir.FunctionType(result, [one.type for one in operands])
    return b.call(ir.InlineAsm(kind, text, constraints, side_effect=side_effect), operands)


@cache
def _words(dtype: str) -> dict[str, Any]:
    """The words that know the field's dtype."""
    number, scalar = getattr(types, dtype), {"float32": ir.FloatType(), "float64": ir.DoubleType()}[dtype]
    suffix, letter = {"float32": ("f32", "f"), "float64": ("f64", "d")}[dtype]
    half = WIDTH[dtype] // 2
    vector = ir.VectorType(scalar, half)

    def place(b: Any, address: Any, offset_bytes: int) -> Any:
        return b.inttoptr(b.add(address, ir.Constant(_I64, offset_bytes)), ir.PointerType(vector, _GLOBAL))

    @intrinsic
    def load_row(typing, address):
        """The lane's columns at ``address``."""

        def code(context, b, signature, args):
            vectors = [b.load(place(b, args[0], part * LANE_BYTES // 2), align=16) for part in (0, 1)]
            return cgutils.pack_array(b, [b.extract_element(v, _I32(k)) for v in vectors for k in range(half)])

        return types.UniTuple(number, 2 * half)(types.int64), code

    @intrinsic
    def store_half(typing, condition, address, values):
        """Half a lane's columns (a tuple) to ``address``, where the condition holds."""

        def code(context, b, signature, args):
            vector_value = ir.Constant(vector, ir.Undefined)
            for k in range(half):
                vector_value = b.insert_element(vector_value, b.extract_value(args[2], k), _I32(k))
            with b.if_then(args[0]):
                b.store(vector_value, place(b, args[1], 0), align=16)
            return context.get_dummy_value()

        return types.void(types.boolean, types.int64, types.UniTuple(number, half)), code

    @intrinsic
    def quarter(typing, x):
        """0.25 * x, and never a fused step."""

        def code(context, b, signature, args):
            constant = {"float32": "0f3E800000", "float64": "0d3FD0000000000000"}[dtype]
            return _asm(b, scalar, args, f"mul.rn.{suffix} $0, $1, {constant};", f"={letter},{letter}")

        return number(number), code

    @intrinsic
    def fused(typing, x, y, z):
        """x * y + z, rounded once."""

        def code(context, b, signature, args):
            return _asm(b, scalar, args, f"fma.rn.{suffix} $0, $1, $2, $3;", ",".join([f"={letter}", *letter * 3]))

        return number(number, number, number), code

    @intrinsic
    def too_large(typing, x):
        """Not a number, or no room for it in the limbs."""

        def code(context, b, signature, args):
            return b.fcmp_unordered(">=", args[0], ir.Constant(scalar, 2.0**TOO_LARGE))

        return types.boolean(number), code

    @intrinsic
    def limb_of(typing, x, scale):
        """The LIMB_BITS bits of ``x * scale`` after the binary point, all steps exact."""

        def code(context, b, signature, args):
            wide = args[0] if dtype == "float64" else b.fpext(args[0], ir.DoubleType())
            text = (
                "{ .reg .f64 a, b; mul.rn.f64 a, $1, $2; cvt.rzi.f64.f64 b, a; sub.rn.f64 a, a, b; "
                f"mul.rn.f64 a, a, 0d{(1023 + LIMB_BITS) << 52:016X}; cvt.rzi.s64.f64 $0, a; }}"
            )
            return _asm(b, _I64, [wide, args[1]], text, "=l,d,d")

        return types.int64(number, types.float64), code

    return {
        "load_row": load_row,
        "store_half": store_half,
        "quarter": quarter,
        "fused": fused,
        "too_large": too_large,
        "limb_of": limb_of,
    }


@cache
def made(sweeps: int, norms: str, dtype: str, nx: int) -> Callable[..., None]:
    """``march`` for so many sweeps a pass.  norms: "none", "last" (of the last sweep) or "all"; nx: up to a multiple"""
    rest = (nx - 1) % WIDTH[dtype]
    name = f"march_{sweeps}_{norms}_{dtype}_{rest}"
    scope: dict[str, Any] = {**globals(), **_words(dtype)}
    exec(compile(source(sweeps, norms, dtype, rest, name), __file__, "exec"), scope)
    made: Callable[..., None] = scope[name]
    return made
