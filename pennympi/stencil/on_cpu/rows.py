"""Access to the elements of rows, for loops that the compiler makes of vector instructions."""

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

    A function that calls ``apart`` says that what it writes by ``write`` is nowhere among what it reads by ``read``: the
    compiler need not compare the addresses.  It is not inlined, since that is true of one call only, and uses vectors as
    long as the CPU has.
    """
    number, element, item_bytes = getattr(types, dtype), element_type(TABLE[dtype]), TABLE[dtype].item_bytes

    def place(b, base, index):
        return b.gep(b.inttoptr(base, ir.PointerType(element)), [index])

    def scope(b):
        module = b.module
        domain = module.add_metadata([ir.MetaDataString(module, "pennympi: a row")])
        read = module.add_metadata([ir.MetaDataString(module, "pennympi: what is read"), domain])
        return module.add_metadata([read])

    @intrinsic
    def read(typing, base, index):
        def code(context, b, signature, args):
            made = b.load(place(b, *args), align=item_bytes)
            made.set_metadata("alias.scope", scope(b))
            return made

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
