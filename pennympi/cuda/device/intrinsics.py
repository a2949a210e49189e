"""GPU instructions for which Numba has no function, as PTX and LLVM IR.

Accesses to flags are volatile inline PTX with a memory clobber.  Data moves by plain LLVM accesses to the global address
space, which the compiler may reorder, but not across an access to a flag.
"""

from llvmlite import ir

from ..compiler.gpu import cgutils, intrinsic, types

_I32, _I64, _VOID = ir.IntType(32), ir.IntType(64), ir.VoidType()
GLOBAL = 1  # LLVM's address space of device memory
_QUAD = ir.VectorType(_I32, 4)


def assembly(b, result, operands, ptx, constraints):
    """A call of inline PTX, which the compiler does not move."""
    kind = ir.FunctionType(result, [operand.type for operand in operands])
    return b.call(ir.InlineAsm(kind, ptx, constraints, side_effect=True), operands)


def statement(ptx):
    """An intrinsic of inline PTX without operands, across which the compiler moves no access to memory."""

    @intrinsic
    def run(typing):
        def code(context, b, signature, args):
            assembly(b, _VOID, [], ptx, "~{memory}")
            return context.get_dummy_value()

        return types.void(), code

    return run


def reading(ptx):
    """An intrinsic of inline PTX with an address, which returns an int64."""

    @intrinsic
    def run(typing, address):
        def code(context, b, signature, args):
            return assembly(b, _I64, args, ptx, "=l,l,~{memory}")

        return types.int64(types.int64), code

    return run


def writing(ptx):
    """An intrinsic of inline PTX with an address and an int64."""

    @intrinsic
    def run(typing, address, value):
        def code(context, b, signature, args):
            assembly(b, _VOID, args, ptx, "l,l,~{memory}")
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), code

    return run


# The int64 at an address; later reads see the earlier writes of its writer, on any PE.
load_acquire = reading("ld.acquire.sys.global.u64 $0, [$1];")
# The int64 at an address, read from memory each time.
load_volatile = reading("ld.volatile.global.u64 $0, [$1];")
# Write an int64 after all earlier writes that this thread has seen, for any PE.
store_release = writing("st.release.sys.global.u64 [$0], $1;")
# Atomic add in memory of this PE.
add_int64 = writing("red.global.add.u64 [$0], $1;")

# Order this thread's accesses for every PE.
fence_system = statement("fence.acq_rel.sys;")
# Order this thread's accesses for this GPU, in half of the time.
fence_device = statement("fence.acq_rel.gpu;")

# Wait for the previous kernel (programmatic dependent launch), and let the next kernel start.  A kernel may not access
# memory before this instruction; after it, a kernel behaves as after an ordinary launch.
after_previous_kernel = statement("griddepcontrol.wait; griddepcontrol.launch_dependents;")


@intrinsic
def global_timer_ns(typing):
    """The device's clock in nanoseconds."""

    def code(context, b, signature, args):
        return assembly(b, _I64, [], "mov.u64 $0, %globaltimer;", "=l,~{memory}")

    return types.int64(), code


@intrinsic
def claim(typing, address):
    """Atomically set an int64 word from 0 to 1.  True for the first thread of this PE."""

    def code(context, b, signature, args):
        old = assembly(b, _I64, args, "atom.global.cas.b64 $0, [$1], 0, 1;", "=l,l,~{memory}")
        return b.icmp_signed("==", old, ir.Constant(_I64, 0))

    return types.boolean(types.int64), code


@intrinsic
def count_up(typing, address, last):
    """Atomically add 1 to the uint32 at ``address``, or set it to 0 if it is ``last``.  Returns the old value."""

    def code(context, b, signature, args):
        operands = [args[0], b.trunc(args[1], _I32)]
        old = assembly(b, _I32, operands, "atom.acq_rel.gpu.global.inc.u32 $0, [$1], $2;", "=r,l,r,~{memory}")
        return b.zext(old, _I64)

    return types.int64(types.int64, types.int64), code


@intrinsic
def anew(typing, x):
    """x, as a new value for the compiler, which then keeps no expression of x in registers."""

    def code(context, b, signature, args):
        return assembly(b, _I64, args, "mov.u64 $0, $1;", "=l,l")

    return types.int64(types.int64), code


@intrinsic
def prefetch(typing, address):
    """Bring the cache line at ``address`` into the L2 cache."""

    def code(context, b, signature, args):
        assembly(b, _VOID, args, "prefetch.global.L2 [$0];", "l")
        return context.get_dummy_value()

    return types.void(types.int64), code


@intrinsic
def divide_32(typing, x, y):
    """x // y of numbers from 0 to 2**32 - 1; a division of 64 bits takes four times as long."""

    def code(context, b, signature, args):
        return b.zext(b.udiv(*(b.trunc(operand, _I32) for operand in args)), _I64)

    return types.int64(types.int64, types.int64), code


@intrinsic
def multiply_rounded(typing, x, y):
    """x * y of two floats of one type, by an instruction that is never fused with an addition."""

    def code(context, b, signature, args):
        kind = args[0].type
        name = "llvm.nvvm.mul.rn." + ("d" if x is types.float64 else "f")
        function = cgutils.get_or_insert_function(b.module, ir.FunctionType(kind, [kind, kind]), name)
        return b.call(function, args)

    return x(x, x), code


@intrinsic
def float_of(typing, x):
    """The float64 that has the bits of an int64."""

    def code(context, b, signature, args):
        return b.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), code


@intrinsic
def bits_of(typing, x):
    """The int64 that has the bits of a float64."""

    def code(context, b, signature, args):
        return b.bitcast(args[0], _I64)

    return types.int64(types.float64), code


def _loader(kind, value, align):
    @intrinsic
    def load(typing, address):
        def code(context, b, signature, args):
            return b.load(b.inttoptr(args[0], ir.PointerType(kind, GLOBAL)), align=align)

        return value(types.int64), code

    return load


def _storer(kind, value, align):
    @intrinsic
    def store(typing, address, x):
        def code(context, b, signature, args):
            b.store(args[1], b.inttoptr(args[0], ir.PointerType(kind, GLOBAL)), align=align)
            return context.get_dummy_value()

        return types.void(types.int64, value), code

    return store


load_word, store_word = _loader(_I64, types.int64, 8), _storer(_I64, types.int64, 8)
load_4, store_4 = _loader(_I32, types.uint32, 4), _storer(_I32, types.uint32, 4)
load_1, store_1 = _loader(ir.IntType(8), types.uint8, 1), _storer(ir.IntType(8), types.uint8, 1)


@intrinsic
def copy_16(typing, dst, src, stride_bytes):
    """Copy four 16-byte vectors, ``stride_bytes`` apart: all loads go before the first store."""

    def code(context, b, signature, args):
        dst, src, stride = args
        offsets = [b.mul(stride, ir.Constant(_I64, k)) for k in range(4)]
        pointer = ir.PointerType(_QUAD, GLOBAL)
        vectors = [b.load(b.inttoptr(b.add(src, offset), pointer), align=16) for offset in offsets]
        for offset, vector in zip(offsets, vectors, strict=True):
            b.store(vector, b.inttoptr(b.add(dst, offset), pointer), align=16)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), code


@intrinsic
def copy_one_16(typing, dst, src):
    """Copy one 16-byte vector."""

    def code(context, b, signature, args):
        pointer = ir.PointerType(_QUAD, GLOBAL)
        b.store(b.load(b.inttoptr(args[1], pointer), align=16), b.inttoptr(args[0], pointer), align=16)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), code
