"""CPU instructions and system calls for which NumPy and Numba have no function, as LLVM IR."""

import platform

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_I64 = ir.IntType(64)
_WORD = ir.PointerType(_I64)
_BYTE = ir.PointerType(ir.IntType(8))
sched_yield = types.ExternalFunction("sched_yield", types.int32())  # there may be more PEs than cores
nap = types.ExternalFunction("usleep", types.int32(types.uint32))  # sleeps for at least about 50 microseconds


@intrinsic
def load_acquire(typing, address):
    """The int64 at ``address``; later reads see the earlier writes of its writer."""

    def code(context, b, signature, args):
        return b.load_atomic(b.inttoptr(args[0], _WORD), "acquire", 8)

    return types.int64(types.int64), code


@intrinsic
def store_release(typing, address, value):
    """Write an int64 after all earlier writes of this thread."""

    def code(context, b, signature, args):
        b.store_atomic(args[1], b.inttoptr(args[0], _WORD), "release", 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), code


@intrinsic
def load_word(typing, address):
    """The int64 at ``address``, a plain load."""

    def code(context, b, signature, args):
        return b.load(b.inttoptr(args[0], _WORD), align=8)

    return types.int64(types.int64), code


@intrinsic
def store_word(typing, address, value):
    """Write the int64 at ``address``, a plain store."""

    def code(context, b, signature, args):
        b.store(args[1], b.inttoptr(args[0], _WORD), align=8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), code


@intrinsic
def fused_multiply_add(typing, x, y, z):
    """x * y + z of three floats of one type, rounded once."""

    def code(context, b, signature, args):
        return b.fma(*args)

    return x(x, x, x), code


@intrinsic
def copy_bytes(typing, dst, src, nbytes):
    """memmove: in an exchange of a PE with itself the two arrays may overlap."""

    def code(context, b, signature, args):
        cgutils.raw_memmove(b, b.inttoptr(args[0], _BYTE), b.inttoptr(args[1], _BYTE), args[2], 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), code


@intrinsic
def call(typing, function, *args):
    """Call the C function at an address, with int64 for its integers and pointers.  Returns its int."""

    def code(context, b, signature, values):
        kind = ir.FunctionType(ir.IntType(32), [_I64] * len(args))
        function, passed = values
        result = b.call(b.inttoptr(function, ir.PointerType(kind)), cgutils.unpack_tuple(b, passed))
        return b.sext(result, _I64)

    return types.int64(types.int64, types.StarArgTuple.from_types((types.int64,) * len(args))), code


@intrinsic
def take(typing, address):
    """Atomically set the int64 at ``address`` from 0 to 1 (acquire).  Returns False if it was not 0."""

    def code(context, b, signature, args):
        pair = b.cmpxchg(b.inttoptr(args[0], _WORD), ir.Constant(_I64, 0), ir.Constant(_I64, 1), "acquire", "monotonic")
        return b.extract_value(pair, 1)

    return types.boolean(types.int64), code


_RELAX = {"x86_64": ("llvm.x86.sse2.pause", ()), "aarch64": ("llvm.aarch64.hint", (1,))}.get(platform.machine())


@intrinsic
def relax(typing):
    """Tell the core that this is a spin loop: the core leaves the loop faster, and gives time to its second thread."""

    def code(context, b, signature, args):
        if _RELAX:
            name, hints = _RELAX
            kind = ir.FunctionType(ir.VoidType(), [ir.IntType(32)] * len(hints))
            b.call(cgutils.get_or_insert_function(b.module, kind, name), [ir.Constant(ir.IntType(32), n) for n in hints])
        return context.get_dummy_value()

    return types.void(), code


def _clock(number):
    @intrinsic
    def read_ns(typing):
        def code(context, b, signature, args):
            pair = ir.ArrayType(_I64, 2)
            kind = ir.FunctionType(ir.IntType(32), [ir.IntType(32), ir.PointerType(pair)])
            function = cgutils.get_or_insert_function(b.module, kind, "clock_gettime")
            time = cgutils.alloca_once(b, pair)
            b.call(function, [ir.Constant(ir.IntType(32), number), time])
            seconds, nanoseconds = (b.load(cgutils.gep_inbounds(b, time, 0, k)) for k in (0, 1))
            return b.add(b.mul(seconds, ir.Constant(_I64, 1_000_000_000)), nanoseconds)

        return types.int64(), code

    return read_ns


monotonic_ns = _clock(1)  # CLOCK_MONOTONIC in nanoseconds
coarse_ns = _clock(6)  # CLOCK_MONOTONIC_COARSE: some milliseconds late, but ten times as fast to read


def _grid_word(b, name):
    """A variable of the compiled library, which a kernel and its callees share."""
    word = b.module.globals.get(name)
    if word is None:
        word = ir.GlobalVariable(b.module, _I64, name)
        word.linkage, word.initializer = "linkonce_odr", ir.Constant(_I64, 0)
    return word


def _grid_reader(name):
    @intrinsic
    def read(typing):
        def code(context, b, signature, args):
            return b.load(_grid_word(b, name))

        return types.int64(), code

    return read


read_block = _grid_reader("pennympi_block")
read_blocks = _grid_reader("pennympi_blocks")


@intrinsic
def set_block(typing, block, blocks):
    """Set the results of ``block()`` and ``blocks()`` in this compiled library."""

    def code(context, b, signature, args):
        b.store(args[0], _grid_word(b, "pennympi_block"))
        b.store(args[1], _grid_word(b, "pennympi_blocks"))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), code
