"""The RMSNorm of whole rows, on a CPU."""

import math
from functools import cache
from types import FunctionType
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..arrays.dtypes import DType
from ..compile import arithmetic
from ..compile import context as ctx_words
from ..compile.stubs import instruction, number
from .intrinsics import call_6, load_word
from .multicast import BODIES
from .primitives import body

ITEM_BYTES = number("ITEM_BYTES", "Bytes of an element.")
LANES = 8  # elements of a vector
NORM_SIGNATURE = types.int32(*(types.int64,) * 6)


@instruction
def squares(address):
    """The sum of the squares of LANES elements at any address, as a float64."""


@instruction
def square(address):
    """That of one element."""


@instruction
def put_scaled(out, x, weight, scale):
    """LANES elements of x, times a float64 and their weights, rounded to float32s and from there to elements."""


@instruction
def put_one(out, x, weight, scale):
    """The same for one element."""


@instruction
def float_of(bits):
    """The float64 of these bits."""


@body
def rms_norm(ctx, out, x, weight, n_elems, row_elems, eps_bits):
    call_6(load_word(ctx + 8 * ctx_words.NORM), out, x, weight, n_elems, row_elems, eps_bits)


def _rms_norm(out, x, weight, n_elems, row_elems, eps_bits):
    """The machine code of a dtype; ``loop`` replaces the stubs."""
    row_bytes, vector_bytes = row_elems * ITEM_BYTES, LANES * ITEM_BYTES
    whole_bytes = row_bytes // vector_bytes * vector_bytes
    for row in range(0, n_elems * ITEM_BYTES, row_bytes):
        total = 0.0
        for at in range(row, row + whole_bytes, vector_bytes):
            total += squares(x + at)
        for at in range(row + whole_bytes, row + row_bytes, ITEM_BYTES):
            total += square(x + at)
        scale = 1.0 / math.sqrt(total / row_elems + float_of(eps_bits))
        for at in range(row, row + whole_bytes, vector_bytes):
            put_scaled(out + at, x + at, weight + at - row, scale)
        for at in range(row + whole_bytes, row + row_bytes, ITEM_BYTES):
            put_one(out + at, x + at, weight + at - row, scale)
    return 0


def _elements(b: ir.IRBuilder, dtype: DType, address: ir.Value, width: int) -> ir.Value:
    """As float64s."""
    x = arithmetic.load(b, address, arithmetic.element_type(dtype), width, 1, 0)
    return b.fpext(arithmetic.widen(b, dtype, x, width), arithmetic.of_width(ir.DoubleType(), width))


def _sum(b: ir.IRBuilder, x: ir.Value, width: int) -> ir.Value:
    """Of all lanes, by halves."""
    while width > 1:
        width //= 2
        halves = [[k + half * width for k in range(width)] for half in (0, 1)]
        masks = [ir.Constant(ir.VectorType(ir.IntType(32), width), half) for half in halves]
        x = b.fadd(*(b.shuffle_vector(x, x, mask) for mask in masks))
    return b.extract_element(x, ir.Constant(ir.IntType(32), 0)) if isinstance(x.type, ir.VectorType) else x


def _square_of(dtype: DType, width: int) -> Any:
    @intrinsic
    def made(typing, address):
        def code(context, b, signature, args):
            x = _elements(b, dtype, args[0], width)
            return _sum(b, b.fmul(x, x), width)

        return types.float64(types.int64), code

    return made


def _put_of(dtype: DType, width: int) -> Any:
    @intrinsic
    def made(typing, out, x, weight, scale):
        def code(context, b, signature, args):
            values, weights = (_elements(b, dtype, address, width) for address in args[1:3])
            y = b.fmul(b.fmul(values, arithmetic.splat(b, args[3], width)), weights)
            y = arithmetic.narrow(b, dtype, b.fptrunc(y, arithmetic.of_width(ir.FloatType(), width)), width)
            arithmetic.store(b, args[0], y, 1, 0)
            return context.get_dummy_value()

        return types.void(*(types.int64,) * 3, types.float64), code

    return made


@cache
def loop(dtype: DType) -> FunctionType:
    """The plain function of a dtype, whose partials are float32."""

    @intrinsic
    def float_of(typing, bits):
        def code(context, b, signature, args):
            return b.bitcast(args[0], ir.DoubleType())

        return types.float64(types.int64), code

    scope: dict[str, Any] = {
        **globals(), "float_of": float_of, "ITEM_BYTES": dtype.item_bytes,
        "squares": _square_of(dtype, LANES), "square": _square_of(dtype, 1),
        "put_scaled": _put_of(dtype, LANES), "put_one": _put_of(dtype, 1),
    }  # fmt: skip
    return FunctionType(_rms_norm.__code__, scope, f"rms_norm_{dtype.name}")


__all__ = ["BODIES"]
