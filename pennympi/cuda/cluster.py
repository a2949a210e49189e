"""Thread block clusters: blocks that run at the same time and write one another's shared memory, on a GPU.

A kernel launched without a cluster is one of a single block.
"""

from llvmlite import ir
from numba.cuda import types
from numba.cuda.extending import intrinsic

from .intrinsics import assembly, statement

_VOID, _I32, _I64 = ir.VoidType(), ir.IntType(32), ir.IntType(64)


CLUSTERS_CC = (9, 0)  # from this compute capability on there are clusters
CLUSTER = 8  # blocks that each such device can hold as one


def _number(register):
    """An intrinsic that reads a special register of 32 bits."""

    @intrinsic
    def read(typing):
        def code(context, b, signature, args):
            return b.zext(assembly(b, _I32, [], f"mov.u32 $0, %{register};", "=r"), _I64)

        return types.int64(), code

    return read


cluster_blocks = _number("cluster_nctarank")  # of this block's cluster
cluster_rank = _number("cluster_ctarank")  # of this block in it
# This thread has come to the barrier of its cluster, and has written what it wrote before.
cluster_arrive = statement("barrier.cluster.arrive.release;")
# All threads of the cluster have come to its barrier, and this one sees what they wrote before.
cluster_wait = statement("barrier.cluster.wait.acquire;")


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
