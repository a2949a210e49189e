"""Pieces: 16 bytes at a multiple of 16 bytes in global or shared memory, and a tuple of numbers in a thread."""

from llvmlite import ir

from ....cuda.compiler.gpu import intrinsic, types
from ....cuda.device.intrinsics import GLOBAL, assembly, statement
from ....kernels.block import load
from .shared import load_number, loader, store_vector

_I32, _VOID = ir.IntType(32), ir.VoidType()


load_piece = loader(GLOBAL)


@intrinsic
def store_numbers(typing, first, stop, address, piece):
    """Store the numbers first .. stop - 1 of a piece at an address in global memory.

    The branches are inside the inline PTX, so that the compiler does not make a second loop for pieces stored in part.
    """
    letter, suffix, nbytes = ("f", "f32", 4) if piece.dtype is types.float32 else ("d", "f64", 8)
    values = [f"${3 + k}" for k in range(piece.count)]
    single = [
        f"setp.le.s32 p, $1, {k}; setp.gt.and.s32 p, $2, {k}, p; @p st.global.{suffix} [$0+{k * nbytes}], {value};"
        for k, value in enumerate(values)
    ]
    ptx = (
        f"{{ .reg .pred p, q; setp.le.s32 p, $1, 0; setp.ge.and.s32 q, $2, {piece.count}, p; "
        f"@q st.global.v{piece.count}.{suffix} [$0], {{{', '.join(values)}}}; setp.le.or.s32 q, $2, 0, q; @q bra DONE; "
        f"{' '.join(single)} DONE: }}"
    )

    def code(context, b, signature, args):
        numbers = [b.extract_value(args[3], k) for k in range(piece.count)]
        operands = [args[2], b.trunc(args[0], _I32), b.trunc(args[1], _I32), *numbers]
        assembly(b, _VOID, operands, ptx, ",".join(["l", "r", "r", *letter * piece.count, "~{memory}"]))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, piece), code


@intrinsic
def copy_piece(typing, condition, shared, address):
    """Begin to copy a piece from global to shared memory, if the condition holds."""

    def code(context, b, signature, args):
        copy = "{ .reg .pred p; setp.ne.b32 p, $0, 0; @p cp.async.cg.shared.global [$1], [$2], 16; }"
        operands = [b.zext(args[0], _I32), b.trunc(args[1], _I32), args[2]]
        assembly(b, _VOID, operands, copy, "r,r,l,~{memory}")
        return context.get_dummy_value()

    return types.void(types.boolean, types.int64, types.int64), code


# ``end_group`` ends a group of copies; ``wait_for_group`` waits for all groups of this thread except the last two.
end_group, wait_for_group = statement("cp.async.commit_group;"), statement("cp.async.wait_group 2;")


def load_piece_where(condition, address, default):
    """The piece at an address in global memory if the condition holds, else ``default``."""
    if condition:
        return load_piece(address, default[0])
    return default


def load_number_where(condition, address, default):
    """The number at an address in global memory if the condition holds, else ``default``."""
    if condition:
        return load(address, 0)
    return default


def load_shared_where(condition, address, default):
    """The number at an address in shared memory if the condition holds, else ``default``."""
    if condition:
        return load_number(address, default)
    return default


def store_shared_where(condition, address, piece):
    """Store a piece at an address in shared memory, if the condition holds."""
    if condition:
        store_vector(address, piece)
