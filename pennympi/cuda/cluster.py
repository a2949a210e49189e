"""Thread block clusters: blocks that run at the same time and write one another's shared memory, on a GPU.

A kernel launched without a cluster is one of a single block.
"""

from llvmlite import ir
from numba.cuda import types
from numba.cuda.extending import intrinsic

from .intrinsics import assembly

_VOID, _I32, _I64 = ir.VoidType(), ir.IntType(32), ir.IntType(64)


@intrinsic
def cluster_blocks(typing):
    """The number of blocks in this block's cluster."""

    def code(context, b, signature, args):
        return b.zext(assembly(b, _I32, [], "mov.u32 $0, %cluster_nctarank;", "=r"), _I64)

    return types.int64(), code


@intrinsic
def cluster_rank(typing):
    """The number of this block in its cluster."""

    def code(context, b, signature, args):
        return b.zext(assembly(b, _I32, [], "mov.u32 $0, %cluster_ctarank;", "=r"), _I64)

    return types.int64(), code


@intrinsic
def cluster_arrive(typing):
    """This thread has come to the barrier of its cluster, and has written what it wrote before."""

    def code(context, b, signature, args):
        assembly(b, _VOID, [], "barrier.cluster.arrive.release;", "~{memory}")
        return context.get_dummy_value()

    return types.void(), code


@intrinsic
def cluster_wait(typing):
    """Wait until all threads of the cluster have come to its barrier, and see what they wrote before."""

    def code(context, b, signature, args):
        assembly(b, _VOID, [], "barrier.cluster.wait.acquire;", "~{memory}")
        return context.get_dummy_value()

    return types.void(), code


@intrinsic
def write_shared(typing, array, index, value, rank):
    """array[index] = value (float32 or float64) in the shared memory of block ``rank`` of the cluster."""

    def code(context, b, signature, args):
        kind, at, number, block = signature.args[0], args[1], args[2], b.trunc(args[3], _I32)
        data = context.make_array(kind)(context, b, value=args[0]).data
        address = b.add(b.ptrtoint(data, _I64), b.mul(at, ir.Constant(_I64, kind.dtype.bitwidth // 8)))
        word = "d" if kind.dtype.bitwidth == 64 else "f"
        ptx = (
            "{ .reg .b64 near; .reg .b32 own, far; cvta.to.shared.u64 near, $0; cvt.u32.u64 own, near; "
            f"mapa.shared::cluster.u32 far, own, $1; st.shared::cluster.f{kind.dtype.bitwidth} [far], $2; }}"
        )
        assembly(b, _VOID, [address, block, number], ptx, f"l,r,{word},~{{memory}}")
        return context.get_dummy_value()

    return types.void(array, types.int64, array.dtype, types.int64), code
