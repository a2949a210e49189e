"""Typed memory access as instructions, the same for both backends.

Each backend's compiler has its own ``intrinsic`` and its own types; both share the LLVM IR.
"""

from typing import Any

from llvmlite import ir

from ..arrays.dtypes import DType
from .arithmetic import Step, apply, element_type


def accessors(dtype: DType, intrinsic: Any, types: Any, space: int = 0) -> dict[str, Any]:
    """Implementations of ``load``, ``store`` and ``real`` for a dtype that Numba has.

    intrinsic, types: those of the compiler;  space: LLVM address space of the memory
    """
    element = getattr(types, dtype.name)
    scalar = element_type(dtype)

    def pointer(b, base, index):
        return b.gep(b.inttoptr(base, ir.PointerType(scalar, space)), [index])

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


def reduction_step(step: Step, intrinsic: Any, types: Any) -> Any:
    """``arithmetic.apply`` as an instruction (dst, part, src, n_pes), all int64."""

    @intrinsic
    def instruction(typing, dst, part, src, n_pes):
        def code(context, b, signature, args):
            apply(b, step, *args)
            return context.get_dummy_value()

        return types.void(*(types.int64,) * 4), code

    return instruction
