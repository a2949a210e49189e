"""Dynamic shared memory of a block, of which a kernel's launch says how much it is."""

from functools import cache
from typing import Any

from llvmlite import ir

from pennympi.cuda.gpu import intrinsic, types

SHARED, ALIGNED = 3, 16  # LLVM's address space; bytes
_KINDS = {"float64": (types.float64, ir.DoubleType()), "float32": (types.float32, ir.FloatType())}


@cache
def shared(dtype: str) -> Any:
    """(``read(index)``, ``write(index, x)``) of the shared memory as elements of a dtype."""
    number, kind = _KINDS[dtype]

    def place(b, index):
        memory = b.module.globals.get("shared_memory")
        if memory is None:
            memory = ir.GlobalVariable(b.module, ir.ArrayType(kind, 0), "shared_memory", SHARED)
            memory.linkage, memory.align = "external", ALIGNED
        return b.gep(memory, [ir.IntType(64)(0), index], inbounds=True)

    @intrinsic
    def read(typing, index):
        def code(context, b, signature, args):
            return b.load(place(b, args[0]))

        return number(types.int64), code

    @intrinsic
    def write(typing, index, x):
        def code(context, b, signature, args):
            b.store(args[1], place(b, args[0]))
            return context.get_dummy_value()

        return types.void(types.int64, number), code

    return read, write
