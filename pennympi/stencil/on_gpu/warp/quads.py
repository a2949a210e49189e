"""Quads: four numbers of a lane as a tuple, in memory, and as packets that other blocks wait for.

A packet is 8 bytes, which arrive together: 32 bits of data, and the number of the exchange (NCCL's LL protocol).  A
float32 is one packet, a float64 two neighbouring packets; an access of 16 bytes carries two packets.
"""

from llvmlite import ir

from ....cuda.compiler.gpu import cgutils, intrinsic, types
from ....cuda.device.intrinsics import GLOBAL, assembly
from .shared import SHARED, loader, storer

WIDTH = 4
_I32, _I64, _VOID = ir.IntType(32), ir.IntType(64), ir.VoidType()
_FOUR = ir.LiteralStructType([_I32] * 4)


load_global, store_global = loader(GLOBAL, count=WIDTH), storer(GLOBAL)
load_shared = loader(SHARED, count=WIDTH)


def _words_of(b, x):
    """The 32-bit words of a number."""
    if isinstance(x.type, ir.FloatType):
        return [b.bitcast(x, _I32)]
    halves = b.bitcast(x, ir.VectorType(_I32, 2))
    return [b.extract_element(halves, _I32(k)) for k in (0, 1)]


@intrinsic
def put_quad(typing, address, number, quad):
    """Write a quad as packets of an exchange, to memory of this PE or of a peer."""

    def code(context, b, signature, args):
        number = b.trunc(args[1], _I32)
        words = [word for k in range(WIDTH) for word in _words_of(b, b.extract_value(args[2], k))]
        for k in range(0, len(words), 2):
            ptx = f"st.volatile.global.v4.u32 [$0+{8 * k}], {{$1,$2,$3,$2}};"
            assembly(b, _VOID, [args[0], words[k], number, words[k + 1]], ptx, "l,r,r,r,~{memory}")
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, quad), code


@intrinsic
def get_quad(typing, address, number, like):
    """(the quad at ``address``, ``number`` if all its packets carry it, else the number of another packet)"""
    wide = like is types.float64

    def code(context, b, signature, args):
        number, words = b.trunc(args[1], _I32), []
        arrived = number
        for k in range(0, WIDTH * (1 + wide), 2):
            ptx = f"ld.volatile.global.v4.u32 {{$0,$1,$2,$3}}, [$4+{8 * k}];"
            line = assembly(b, _FOUR, [args[0]], ptx, "=r,=r,=r,=r,l,~{memory}")
            low, first, high, second = (b.extract_value(line, i) for i in range(4))
            words += [low, high]
            for number_of_packet in (first, second):
                arrived = b.select(b.icmp_signed("!=", number_of_packet, number), number_of_packet, arrived)
        if wide:
            values = []
            for k in range(0, 8, 2):
                pair = ir.Constant(ir.VectorType(_I32, 2), ir.Undefined)
                for i in (0, 1):
                    pair = b.insert_element(pair, words[k + i], _I32(i))
                values.append(b.bitcast(pair, ir.DoubleType()))
        else:
            values = [b.bitcast(word, ir.FloatType()) for word in words]
        quad = cgutils.pack_array(b, values)
        return context.make_tuple(b, signature.return_type, [quad, b.zext(arrived, _I64)])

    result = types.Tuple([types.UniTuple(like, WIDTH), types.int64])
    return result(types.int64, types.int64, like), code
