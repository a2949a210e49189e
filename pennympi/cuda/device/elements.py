"""Typed memory access and the element loops of a reduction, on a GPU."""

from functools import cache
from types import FunctionType
from typing import Any

from ...arrays.dtypes import DType
from ...compile import accessors as shared
from ...compile import context as ctx_words
from ...compile.arithmetic import STEPS, Step, step_bytes
from ..compiler.gpu import cuda, intrinsic, types
from .intrinsics import GLOBAL, load_word
from .stubs import ALIGNED, DST_BYTES, PART_BYTES, SRC_BYTES, WIDTH, elements, shifted, single, wide
from .words import Vectors

VECTOR_BYTES = 16
PES = 8 * ctx_words.N_PES


@cache
def accessors(dtype: DType) -> dict[str, Any]:
    """Implementations of ``load``, ``store`` and ``real`` on a GPU."""
    return shared.accessors(dtype, intrinsic, types, GLOBAL)


def _step(step: str, dtype: DType, op: str, width: int, align: tuple[int, int]) -> Any:
    whole = Vectors(dtype, op) if 1 < width and dtype.item_bytes < 4 else None
    return shared.reduction_step(Step(step, dtype, op, width, align, GLOBAL, whole), intrinsic, types)


def _elements(ctx, dst, part, src, count):
    """The implementation of every step except ``to_partials``; each step has its own stubs."""
    n_pes = load_word(ctx + PES)
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
    if ALIGNED or ((dst & (DST_BYTES - 1)) | (part & (PART_BYTES - 1)) | (src & (SRC_BYTES - 1))) == 0:
        while i < count:
            single(dst + i * DST_BYTES, part + i * PART_BYTES, src + i * SRC_BYTES, n_pes)
            i += threads
    while not ALIGNED and i < count:  # a view may start at any byte, but a GPU loads only from multiples of an element
        shifted(dst + i * DST_BYTES, part + i * PART_BYTES, src + i * SRC_BYTES, n_pes)
        i += threads
    cuda.syncthreads()


def _widen(ctx, dst, src, count):
    elements(ctx, dst, dst, src, count)


@cache
def implementations(dtype: DType, op: str) -> dict[str, FunctionType]:
    """Implementations of the primitives that make, reduce and round partials, for a dtype and op."""
    functions = {}
    for step in STEPS:
        dst_bytes, src_bytes = step_bytes(step, dtype)
        scope = {
            **globals(),
            "WIDTH": VECTOR_BYTES // dtype.item_bytes,
            "SRC_BYTES": src_bytes,
            "PART_BYTES": dtype.acc_bytes,
            "DST_BYTES": dst_bytes,
            "wide": _step(step, dtype, op, VECTOR_BYTES // dtype.item_bytes, (VECTOR_BYTES, VECTOR_BYTES)),
            "single": _step(step, dtype, op, 1, (dtype.item_bytes, dtype.acc_bytes)),
            "shifted": _step(step, dtype, op, 1, (1, 1)),
        }
        functions[step] = FunctionType(_elements.__code__, scope, step)
    scope = {**globals(), "elements": functions["to_partials"]}
    functions["to_partials"] = FunctionType(_widen.__code__, scope, "to_partials")
    return functions
