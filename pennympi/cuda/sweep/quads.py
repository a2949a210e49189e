"""Four numbers of a lane, a quad, as a tuple: to and from memory, and as packets that other blocks wait for.

A packet is 8 bytes, which arrive together: 32 bits of data, and the number of the exchange (NCCL's LL protocol).  A
float32 takes one, a float64 two, side by side; two packets go by one access of 16 bytes.
"""

from llvmlite import ir
from numba.core import cgutils
from numba.cuda import types
from numba.cuda.extending import intrinsic

from ..intrinsics import GLOBAL, assembly
from .shared import SHARED, vector_type

WIDTH = 4
_I32, _I64, _VOID = ir.IntType(32), ir.IntType(64), ir.VoidType()
_FOUR = ir.LiteralStructType([_I32] * 4)


@intrinsic
def anew(typing, x):
    """The same int64, which the compiler does not know: what is made of it is not kept in registers over a loop."""

    def code(context, b, signature, args):
        return assembly(b, _I64, args, "mov.b64 $0, $1;", "=l,l")

    return types.int64(types.int64), code


def _loader(space):
    @intrinsic
    def load(typing, address, apart, like):
        """The quad at ``address``; of one of two accesses the second lies ``apart`` bytes after the first."""

        def code(context, b, signature, args):
            vector, found = vector_type(context, like), []
            for k in range(0, WIDTH, vector.count):
                at = b.add(args[0], args[1]) if k else args[0]
                one = b.load(b.inttoptr(at, ir.PointerType(vector, space)), align=16)
                found += [b.extract_element(one, _I32(i)) for i in range(vector.count)]
            return cgutils.pack_array(b, found)

        return types.UniTuple(like, WIDTH)(types.int64, types.int64, like), code

    return load


def _storer(space):
    @intrinsic
    def store(typing, address, apart, quad):
        """A quad to ``address``, as it is loaded."""

        def code(context, b, signature, args):
            vector = vector_type(context, quad.dtype)
            for k in range(0, WIDTH, vector.count):
                at = b.add(args[0], args[1]) if k else args[0]
                one = ir.Constant(vector, ir.Undefined)
                for i in range(vector.count):
                    one = b.insert_element(one, b.extract_value(args[2], k + i), _I32(i))
                b.store(one, b.inttoptr(at, ir.PointerType(vector, space)), align=16)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, quad), code

    return store


load_global, store_global = _loader(GLOBAL), _storer(GLOBAL)
load_shared, store_shared = _loader(SHARED), _storer(SHARED)


def _words_of(b, x):
    """The words of 32 bits of a number."""
    if isinstance(x.type, ir.FloatType):
        return [b.bitcast(x, _I32)]
    both = b.bitcast(x, ir.VectorType(_I32, 2))
    return [b.extract_element(both, _I32(k)) for k in (0, 1)]


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
    """(the quad whose packets lie at ``address``, ``number``, or that of a packet of another exchange)"""
    wide = like is types.float64

    def code(context, b, signature, args):
        number, words = b.trunc(args[1], _I32), []
        found = number
        for k in range(0, WIDTH * (1 + wide), 2):
            ptx = f"ld.volatile.global.v4.u32 {{$0,$1,$2,$3}}, [$4+{8 * k}];"
            line = assembly(b, _FOUR, [args[0]], ptx, "=r,=r,=r,=r,l,~{memory}")
            low, first, high, second = (b.extract_value(line, i) for i in range(4))
            words += [low, high]
            for one in (first, second):
                found = b.select(b.icmp_signed("!=", one, number), one, found)
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
        return context.make_tuple(b, signature.return_type, [quad, b.zext(found, _I64)])

    result = types.Tuple([types.UniTuple(like, WIDTH), types.int64])
    return result(types.int64, types.int64, like), code


@intrinsic
def load_words(typing, address):
    """Two int64 in shared memory, at a multiple of 16."""

    def code(context, b, signature, args):
        one = b.load(b.inttoptr(args[0], ir.PointerType(ir.VectorType(_I64, 2), SHARED)), align=16)
        return cgutils.pack_array(b, [b.extract_element(one, _I32(k)) for k in (0, 1)])

    return types.UniTuple(types.int64, 2)(types.int64), code


@intrinsic
def store_words(typing, address, first, second):
    """Two int64 to shared memory, at a multiple of 16."""

    def code(context, b, signature, args):
        one = ir.Constant(ir.VectorType(_I64, 2), ir.Undefined)
        for k in (0, 1):
            one = b.insert_element(one, args[1 + k], _I32(k))
        b.store(one, b.inttoptr(args[0], ir.PointerType(one.type, SHARED)), align=16)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), code
