"""Loads and stores of 16 bytes as tuples of numbers, and of single numbers in dynamic shared memory."""

from llvmlite import ir

from ....cuda.compiler.gpu import cgutils, intrinsic, types

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


def loader(space, nbytes=PIECE_BYTES, count=0):
    """``load(address, like)``: ``count`` numbers, or ``nbytes`` bytes, of ``like``'s type; address: a multiple of 16."""

    @intrinsic
    def load(typing, address, like):
        kind = types.unliteral(like)
        n = count or nbytes * 8 // kind.bitwidth

        def code(context, b, signature, args):
            vector, numbers = vector_type(context, kind), []
            for k in range(0, n, vector.count):
                loaded = b.load(pointer(b, args[0], k // vector.count * PIECE_BYTES, vector, space), align=PIECE_BYTES)
                numbers += [b.extract_element(loaded, _I32(i)) for i in range(vector.count)]
            return cgutils.pack_array(b, numbers)

        return types.UniTuple(kind, n)(types.int64, like), code

    return load


def storer(space):
    """``store(address, numbers)``: store a tuple; its bytes and the address are multiples of 16."""

    @intrinsic
    def store(typing, address, numbers):
        def code(context, b, signature, args):
            store_vectors(context, b, *args, numbers, space)
            return context.get_dummy_value()

        return types.void(types.int64, numbers), code

    return store


def store_vectors(context, b, address, numbers, kind, space):
    """Build the stores of a tuple of the type ``kind``."""
    vector = vector_type(context, types.unliteral(kind.dtype))
    for k in range(0, kind.count, vector.count):
        stored = ir.Constant(vector, ir.Undefined)
        for i in range(vector.count):
            stored = b.insert_element(stored, b.extract_value(numbers, k + i), _I32(i))
        b.store(stored, pointer(b, address, k // vector.count * PIECE_BYTES, vector, space), align=PIECE_BYTES)


def pointer(b, address, offset_bytes, kind, space):
    """A pointer to a number or vector ``offset_bytes`` after an address."""
    return b.inttoptr(b.add(address, _I64(offset_bytes)), ir.PointerType(kind, space))


load_vector, store_vector = loader(SHARED), storer(SHARED)


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
