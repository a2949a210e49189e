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
NORM_SIGNATURE = types.int32(*(types.int64,) * 6)


@instruction
def element(address):
    """The element at any address, as a float64."""


@instruction
def put_element(address, value):
    """A float64, rounded to a float32 and from there to an element."""


@instruction
def float_of(bits):
    """The float64 of these bits."""


@body
def rms_norm(ctx, out, x, weight, n_elems, row_elems, eps_bits):
    call_6(load_word(ctx + 8 * ctx_words.NORM), out, x, weight, n_elems, row_elems, eps_bits)


def _rms_norm(out, x, weight, n_elems, row_elems, eps_bits):
    """The machine code of a dtype; ``loop`` replaces the stubs."""
    row_bytes = row_elems * ITEM_BYTES
    for row in range(0, n_elems * ITEM_BYTES, row_bytes):
        a = b = c = d = 0.0  # sums that do not wait for one another
        at, end = x + row, x + row + row_bytes
        while at + 4 * ITEM_BYTES <= end:
            a += element(at) ** 2
            b += element(at + ITEM_BYTES) ** 2
            c += element(at + 2 * ITEM_BYTES) ** 2
            d += element(at + 3 * ITEM_BYTES) ** 2
            at += 4 * ITEM_BYTES
        while at < end:
            a += element(at) ** 2
            at += ITEM_BYTES
        scale = 1.0 / math.sqrt((a + b + c + d) / row_elems + float_of(eps_bits))
        for i in range(row_elems):
            at = row + i * ITEM_BYTES
            put_element(out + at, element(x + at) * scale * element(weight + i * ITEM_BYTES))
    return 0


@cache
def loop(dtype: DType) -> FunctionType:
    """The plain function of a dtype, whose partials are float32."""
    kind = arithmetic.element_type(dtype)

    @intrinsic
    def element(typing, address):
        def code(context, b, signature, args):
            x = arithmetic.load(b, args[0], kind, 1, 1, 0)
            return b.fpext(arithmetic.widen(b, dtype, x, 1), ir.DoubleType())

        return types.float64(types.int64), code

    @intrinsic
    def put_element(typing, address, value):
        def code(context, b, signature, args):
            x = arithmetic.narrow(b, dtype, b.fptrunc(args[1], ir.FloatType()), 1)
            arithmetic.store(b, args[0], x, 1, 0)
            return context.get_dummy_value()

        return types.void(types.int64, types.float64), code

    @intrinsic
    def float_of(typing, bits):
        def code(context, b, signature, args):
            return b.bitcast(args[0], ir.DoubleType())

        return types.float64(types.int64), code

    scope: dict[str, Any] = {
        **globals(), "element": element, "put_element": put_element, "float_of": float_of, "ITEM_BYTES": dtype.item_bytes
    }  # fmt: skip
    return FunctionType(_rms_norm.__code__, scope, f"rms_norm_{dtype.name}")


__all__ = ["BODIES"]
