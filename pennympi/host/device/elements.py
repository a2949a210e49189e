"""Typed memory access and the element loops of a reduction, on a CPU."""

from functools import cache
from types import FunctionType
from typing import Any

from numba import types
from numba.extending import intrinsic

from ...arrays.dtypes import DType
from ...compile import accessors as shared
from ...compile import context as ctx_words
from ...compile.arithmetic import PLUS, Step, step_bytes
from ...compile.stubs import instruction, number
from .intrinsics import load_word

WIDTH = 16  # number of elements of a vector step; LLVM splits it into vectors of the CPU
PES = 8 * ctx_words.N_PES


@cache
def accessors(dtype: DType) -> dict[str, Any]:
    """Implementations of ``load``, ``store`` and ``real`` on a CPU."""
    return shared.accessors(dtype, intrinsic, types)


@instruction
def wide(dst, part, src, n_pes):
    """One step of the reduction on WIDTH elements at any addresses."""


@instruction
def single(dst, part, src, n_pes):
    """One step on an element."""


# Bytes of an element or partial at dst, part and src.
DST_BYTES, PART_BYTES, SRC_BYTES = (number(name, "Bytes.") for name in ("DST_BYTES", "PART_BYTES", "SRC_BYTES"))


def _elements(ctx, dst, part, src, count):
    """The implementation of every step; ``loop`` replaces the stubs."""
    n_pes = load_word(ctx + PES)
    whole = count // WIDTH * WIDTH
    for i in range(0, whole, WIDTH):
        wide(dst + i * DST_BYTES, part + i * PART_BYTES, src + i * SRC_BYTES, n_pes)
    for i in range(whole, count):
        single(dst + i * DST_BYTES, part + i * PART_BYTES, src + i * SRC_BYTES, n_pes)


def loop(step: str, dtype: DType, op: str) -> FunctionType:
    """The plain function void(ctx, dst, part, src, count) of a step, dtype and op."""
    # Any address is allowed: align 1 lets LLVM pick unaligned vector moves.
    wide, single = (shared.reduction_step(Step(step, dtype, op, width, (1, 1)), intrinsic, types) for width in (WIDTH, 1))
    dst_bytes, src_bytes = step_bytes(step, dtype)
    scope = {
        **globals(),
        "wide": wide,
        "single": single,
        "SRC_BYTES": src_bytes,
        "PART_BYTES": dtype.item_bytes if step == PLUS else dtype.acc_bytes,
        "DST_BYTES": dst_bytes,
    }
    function = FunctionType(_elements.__code__, scope, f"{step}_{dtype.name}_{op}")
    function.__qualname__ = function.__name__
    return function


LOOP_SIGNATURE = types.void(*(types.int64,) * 5)
