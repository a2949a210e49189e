"""Access to the elements of rows, for loops that the compiler vectorizes."""

from functools import cache
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ...arrays.dtypes import TABLE
from ...compile.arithmetic import element_type
from ...compile.unroll import Static


@cache
def row_accessors(dtype: str) -> Static[tuple[Any, Any, Any]]:
    """``read(address, z)``, ``write(address, z, value)`` and ``apart()`` for a dtype.

    A function that calls ``apart`` promises that its writes do not overlap its reads, so the compiler need not compare
    addresses.  The function is not inlined, because the promise holds for one call only, and its vectors are as long as
    the longest of the CPU.
    """
    number, element, item_bytes = getattr(types, dtype), element_type(TABLE[dtype]), TABLE[dtype].item_bytes

    def place(b, base, index):
        return b.gep(b.inttoptr(base, ir.PointerType(element)), [index])

    def scope(b):
        module = b.module
        domain = module.add_metadata([ir.MetaDataString(module, "pennympi: a row")])
        read = module.add_metadata([ir.MetaDataString(module, "pennympi: reads"), domain])
        return module.add_metadata([read])

    @intrinsic
    def read(typing, base, index):
        def code(context, b, signature, args):
            loaded = b.load(place(b, *args), align=item_bytes)
            loaded.set_metadata("alias.scope", scope(b))
            return loaded

        return number(types.int64, types.int64), code

    @intrinsic
    def write(typing, base, index, value):
        def code(context, b, signature, args):
            b.store(args[2], place(b, *args[:2]), align=item_bytes).set_metadata("noalias", scope(b))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, number), code

    @intrinsic
    def apart(typing):
        def code(context, b, signature, args):
            b.function.attributes.add("noinline")
            set.add(b.function.attributes, '"prefer-vector-width"="512"')
            return context.get_dummy_value()

        return types.void(), code

    return read, write, apart
