"""Dynamic shared memory by addresses: 16 bytes at a time as tuples of numbers, and numbers one by one."""

from llvmlite import ir
from numba.core import cgutils
from numba.cuda import types
from numba.cuda.extending import intrinsic

SHARED = 3  # LLVM's address space
PIECE_BYTES = 16
_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)


@intrinsic
def shared_start(typing):
    """Address of a block's dynamic shared memory, a multiple of 16."""

    def code(context, b, signature, args):
        name = "dynamic_shared_memory"
        memory = b.module.globals.get(name)
        if memory is None:
            memory = ir.GlobalVariable(b.module, ir.ArrayType(_I8, 0), name, SHARED)
            memory.linkage, memory.align = "external", PIECE_BYTES
        return b.ptrtoint(memory, _I64)

    return types.int64(), code


def vector_type(context, like):
    """The LLVM type of 16 bytes of numbers of a type."""
    scalar = context.get_value_type(like)
    return ir.VectorType(scalar, PIECE_BYTES // context.get_abi_sizeof(scalar))


def loader(space):
    """``load(address, like)``: the 16 bytes at an address in an address space, numbers of the type of ``like``."""

    @intrinsic
    def load(typing, address, like):
        kind = types.unliteral(like)

        def code(context, b, signature, args):
            vector = vector_type(context, kind)
            loaded = b.load(b.inttoptr(args[0], ir.PointerType(vector, space)), align=PIECE_BYTES)
            return cgutils.pack_array(b, [b.extract_element(loaded, _I32(k)) for k in range(vector.count)])

        return types.UniTuple(kind, PIECE_BYTES * 8 // kind.bitwidth)(types.int64, like), code

    return load


load_vector = loader(SHARED)


@intrinsic
def store_vector(typing, address, numbers):
    """Store a tuple of numbers, 16 bytes, at an address in shared memory."""

    def code(context, b, signature, args):
        vector = vector_type(context, numbers.dtype)
        stored = ir.Constant(vector, ir.Undefined)
        for k in range(vector.count):
            stored = b.insert_element(stored, b.extract_value(args[1], k), _I32(k))
        b.store(stored, b.inttoptr(args[0], ir.PointerType(vector, SHARED)), align=PIECE_BYTES)
        return context.get_dummy_value()

    return types.void(types.int64, numbers), code


@intrinsic
def load_number(typing, address, like):
    """The number at an address in shared memory, of the type of ``like``."""
    kind = types.unliteral(like)

    def code(context, b, signature, args):
        return b.load(b.inttoptr(args[0], ir.PointerType(context.get_value_type(kind), SHARED)), align=kind.bitwidth // 8)

    return kind(types.int64, like), code


@intrinsic
def store_number(typing, address, number):
    """Store a number at an address in shared memory."""
    kind = types.unliteral(number)

    def code(context, b, signature, args):
        pointer = b.inttoptr(args[0], ir.PointerType(context.get_value_type(kind), SHARED))
        b.store(args[1], pointer, align=kind.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(types.int64, kind), code
