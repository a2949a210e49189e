"""Loads and stores of rows by the lanes of a warp, and numbers of other lanes.

A lane's part of a row is a tuple of LANE_BYTES bytes, at a multiple of LANE_BYTES.  A load or store takes 16 bytes.
"""

from llvmlite import ir

from ....cuda.compiler.gpu import cgutils, cuda, intrinsic, types
from ....cuda.device.intrinsics import GLOBAL, statement
from .shared import pointer, vector_type

LANES, LANE_BYTES = 32, 32
ALL_LANES = 0xFFFFFFFF
_I32, _I64 = ir.IntType(32), ir.IntType(64)


def lane_number():
    """Index of this lane in its warp."""
    return cuda.laneid


def warp_number():
    """Index of this warp in its block."""
    return cuda.shfl_sync(ALL_LANES, cuda.threadIdx.x >> 5, 0)  # by a shuffle: the compiler sees that the lanes agree


def shift_down(x):
    """``x`` of the next lane."""
    return cuda.shfl_down_sync(ALL_LANES, x, 1)


def shift_up(x):
    """``x`` of the previous lane."""
    return cuda.shfl_up_sync(ALL_LANES, x, 1)


def of_lane(x, lane):
    """``x`` of lane ``lane``."""
    return cuda.shfl_sync(ALL_LANES, x, lane)


def swap(x):
    """``x`` of the partner lane in a pair of an even and an odd lane."""
    return cuda.shfl_xor_sync(ALL_LANES, x, 1)


def between(x, low, high):
    """x, limited to low .. high."""
    return min(max(x, low), high)


def least(x, y):
    """The smaller of x and y."""
    return min(x, y)


# Barrier of a warp: afterwards all its lanes see the earlier writes of each lane to shared memory.
sync_warp = statement("bar.warp.sync -1;")


@intrinsic
def pick(typing, condition, x, y):
    """x if the condition holds, else y, without a branch."""
    kind = types.unliteral(x)

    def code(context, b, signature, args):
        return b.select(*args)

    return kind(types.boolean, kind, kind), code


@intrinsic
def within(typing, x, n):
    """True if 0 <= x < n, compared in 32 bits."""

    def code(context, b, signature, args):
        return b.icmp_unsigned("<", b.trunc(args[0], _I32), b.trunc(args[1], _I32))

    return types.boolean(types.int64, types.int64), code


@intrinsic
def load_row(typing, address, like):
    """The lane's part of a row at ``address``, a tuple of numbers of the type of ``like``."""
    width = LANE_BYTES // (like.bitwidth // 8)

    def code(context, b, signature, args):
        vector = vector_type(context, like)
        loaded = [b.load(pointer(b, args[0], offset, vector, GLOBAL), align=16) for offset in range(0, LANE_BYTES, 16)]
        numbers = [b.extract_element(half, _I32(k)) for half in loaded for k in range(vector.count)]
        return cgutils.pack_array(b, numbers)

    return types.UniTuple(like, width)(types.int64, like), code


@intrinsic
def store_half(typing, condition, address, values):
    """Store half a lane's part (a tuple) at ``address``, if the condition holds."""

    def code(context, b, signature, args):
        vector = vector_type(context, values.dtype)
        stored = ir.Constant(vector, ir.Undefined)
        for k in range(vector.count):
            stored = b.insert_element(stored, b.extract_value(args[2], k), _I32(k))
        with b.if_then(args[0]):
            b.store(stored, pointer(b, args[1], 0, vector, GLOBAL), align=16)
        return context.get_dummy_value()

    return types.void(types.boolean, types.int64, values), code


@intrinsic
def store_some(typing, first, stop, address, values):
    """Store the numbers first .. stop - 1 of half a lane's part (a tuple)."""

    def code(context, b, signature, args):
        vector = vector_type(context, values.dtype)
        scalar, item_bytes = vector.element, 16 // vector.count
        for k in range(vector.count):
            inside = b.and_(b.icmp_signed("<=", args[0], _I64(k)), b.icmp_signed(">", args[1], _I64(k)))
            with b.if_then(inside):
                value = b.extract_value(args[3], k)
                b.store(value, pointer(b, args[2], k * item_bytes, scalar, GLOBAL), align=item_bytes)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, values), code
