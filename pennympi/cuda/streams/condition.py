"""Kernels of one thread inside a loop that the GPU runs without the host."""

from llvmlite import ir

from ...kernels.block import Words
from ..compiler.gpu import cgutils, cuda, intrinsic, types
from ..device.intrinsics import load_volatile
from ..device.waits import GAVE_UP

THREADS = 32


@intrinsic
def set_conditional(typing, handle, more):
    """Set whether the conditional node of a handle runs its body (again)."""

    def code(context, b, signature, args):
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(64), ir.IntType(32)])
        function = cgutils.get_or_insert_function(b.module, kind, "cudaGraphSetConditional")  # defined by the driver
        b.call(function, [args[0], b.trunc(args[1], ir.IntType(32))])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), code


def set_condition(ctx, rest: Words, handle: int):
    """Request another turn, unless the loop has paused or ended, or a wait of this PE has given up."""
    if cuda.threadIdx.x == 0:
        set_conditional(handle, 1 if load_volatile(rest) == 0 and load_volatile(ctx + GAVE_UP) == 0 else 0)


def hold(ctx):
    """Wait for ever after a wait of this PE has given up; ``hold_if_given_up`` enqueues it in the body of a loop."""
    if cuda.threadIdx.x == 0:
        while load_volatile(ctx + GAVE_UP) != 0:
            pass
