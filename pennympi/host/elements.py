"""Typed memory access and the element loops of a reduction, on a CPU."""

from functools import cache
from types import FunctionType

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .. import arithmetic
from .. import here as h
from ..dtypes import DType
from .intrinsics import load_word

WIDTH = 16  # elements of one vector step; LLVM splits it to what the CPU has


def _numba_type(dtype: DType):
    return getattr(types, dtype.name)


@cache
def accessors(dtype: DType):
    """Bodies of ``load``, ``store`` and ``real`` for a dtype that Numba has on a CPU."""
    element = _numba_type(dtype)
    scalar = arithmetic.element_type(dtype)

    def pointer(b, base, index):
        return b.gep(b.inttoptr(base, ir.PointerType(scalar)), [index])

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


@cache
def _step(step: str, dtype: DType, op: str, width: int):
    """One step of a reduction on ``width`` elements, as an instruction."""

    @intrinsic
    def instruction(typing, dst, part, src, n_pes):
        def code(context, b, signature, args):
            # Any address is allowed: align 1 lets LLVM pick unaligned vector moves.
            arithmetic.apply(b, step, dtype, op, width, args[0], args[1], args[2], args[3], (1, 1))
            return context.get_dummy_value()

        return types.void(*(types.int64,) * 4), code

    return instruction


def _elements(here, dst, part, src, count):
    n_pes = load_word(here + PES_WORD)
    whole = count // WIDTH * WIDTH
    for i in range(0, whole, WIDTH):
        wide(dst + i * DST_BYTES, part + i * PART_BYTES, src + i * SRC_BYTES, n_pes)
    for i in range(whole, count):
        single(dst + i * DST_BYTES, part + i * PART_BYTES, src + i * SRC_BYTES, n_pes)


def loop(step: str, dtype: DType, op: str) -> FunctionType:
    """The plain function void(here, dst, part, src, count) of one step, dtype and op."""
    scope = {
        **globals(),
        "wide": _step(step, dtype, op, WIDTH),
        "single": _step(step, dtype, op, 1),
        "SRC_BYTES": dtype.item_bytes,
        "PART_BYTES": dtype.acc_bytes,
        "DST_BYTES": dtype.item_bytes if step == "finish" else dtype.acc_bytes,
        "PES_WORD": 8 * h.N_PES,
    }
    function = FunctionType(_elements.__code__, scope, f"{step}_{dtype.name}_{op}")
    function.__qualname__ = function.__name__
    return function


LOOP_SIGNATURE = types.void(*(types.int64,) * 5)
