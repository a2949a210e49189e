"""Typed memory access and the element loops of a reduction, on a GPU."""

from functools import cache
from types import FunctionType
from typing import Any

from llvmlite import ir
from numba import cuda
from numba.cuda import types
from numba.cuda.extending import intrinsic

from .. import arithmetic
from .. import here as h
from ..dtypes import DType
from .intrinsics import GLOBAL, load_word

VECTOR_BYTES = 16


@cache
def accessors(dtype: DType) -> dict[str, Any]:
    """Bodies of ``load``, ``store`` and ``real`` for a dtype that Numba has."""
    element = getattr(types, dtype.name)
    scalar = arithmetic.element_type(dtype)

    def pointer(b, base, index):
        return b.gep(b.inttoptr(base, ir.PointerType(scalar, GLOBAL)), [index])

    @intrinsic
    def load(typing, base, index):
        def code(context, b, signature, args):
            return b.load(pointer(b, *args), align=dtype.item_bytes)

        return element(types.int64, types.int64), code

    @intrinsic
    def store(typing, base, index, value):
        def code(context, b, signature, args):
            b.store(args[2], pointer(b, *args[:2]), align=dtype.item_bytes)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, element), code

    @intrinsic
    def real(typing, x):
        def code(context, b, signature, args):
            return context.cast(b, args[0], signature.args[0], element)

        return element(x), code

    return {"load": load, "store": store, "real": real}


def _step(step: str, dtype: DType, op: str, width: int, align: tuple[int, int]) -> Any:
    """One step of a reduction on ``width`` elements, as an instruction."""

    @intrinsic
    def instruction(typing, dst, part, src, n_pes):
        def code(context, b, signature, args):
            arithmetic.apply(b, step, dtype, op, width, args[0], args[1], args[2], args[3], align, GLOBAL)
            return context.get_dummy_value()

        return types.void(*(types.int64,) * 4), code

    return instruction


def _elements(here, dst, part, src, count):
    n_pes = load_word(here + PES)
    thread = cuda.threadIdx.x
    threads = cuda.blockDim.x
    whole = 0
    if ((dst | part | src) & 15) == 0:
        whole = count // WIDTH * WIDTH
        i = thread * WIDTH
        while i < whole:
            wide(dst + i * DST_BYTES, part + i * PART_BYTES, src + i * SRC_BYTES, n_pes)
            i += threads * WIDTH
    i = whole + thread
    while i < count:
        single(dst + i * DST_BYTES, part + i * PART_BYTES, src + i * SRC_BYTES, n_pes)
        i += threads
    cuda.syncthreads()


def _widen(here, dst, src, count):
    elements(here, dst, dst, src, count)


def bodies(dtype: DType, op: str) -> dict[str, FunctionType]:
    """Bodies of ``widen``, ``reduce`` and ``finish`` for a dtype and op, to be bound."""
    made = {}
    for step in ("widen", "reduce", "finish"):
        scope = {
            **globals(),
            "WIDTH": VECTOR_BYTES // dtype.item_bytes,
            "SRC_BYTES": dtype.item_bytes,
            "PART_BYTES": dtype.acc_bytes,
            "DST_BYTES": dtype.item_bytes if step == "finish" else dtype.acc_bytes,
            "PES": 8 * h.N_PES,
            "wide": _step(step, dtype, op, VECTOR_BYTES // dtype.item_bytes, (VECTOR_BYTES, VECTOR_BYTES)),
            "single": _step(step, dtype, op, 1, (dtype.item_bytes, dtype.acc_bytes)),
        }
        made[step] = FunctionType(_elements.__code__, scope, step)
    made["widen"] = FunctionType(_widen.__code__, {**globals(), "elements": made["widen"]}, "widen")
    return made
