"""The RMSNorm of whole rows by a block, or of one row by the blocks of a cluster, on a GPU."""

from functools import cache
from typing import Any

from llvmlite import ir
from numba import cuda
from numba.cuda import cgutils, types
from numba.cuda.extending import intrinsic

from ..arrays.dtypes import DType
from ..kernels.algorithm import MAX_THREADS, WARP_THREADS
from .cluster import CLUSTER, cluster_arrive, cluster_blocks, cluster_rank, cluster_wait, write_shared
from .intrinsics import here
from .packets import ALL, store_word_at, word_at
from .primitives import warp_sum
from .stubs import ALIGNED, CLUSTERED, ITEM_BYTES, WIDE, add_squares, normalised, reciprocal_root
from .words import PAIR, Vectors, load_16, store_16, vector_of

libdevice = cuda.libdevice
_I32 = ir.IntType(32)
WARPS = MAX_THREADS // WARP_THREADS  # of a block, at most
SUMS, SUMS_OF_CLUSTER = 2 * WARPS, CLUSTER * WARPS  # of two rows; of a part of one in each block of a cluster
FUSED = {True: "llvm.nvvm.fma.rn.f", False: "llvm.nvvm.fma.rn.d"}  # whether of float32


def vector_at(row, i, row_bytes, whole):
    """The 16 bytes at byte i of a row, zeros behind its end.  whole: rows are 16-byte vectors at multiples of 16"""
    if i >= row_bytes:
        return (0, 0)
    if whole:
        return load_16(row + i)
    return (word_at(row, i, row_bytes), word_at(row, i + 8, row_bytes))


def put_vector(row, i, row_bytes, whole, pair):
    """16 bytes to byte i of a row; nothing behind its end."""
    if i < row_bytes:
        if whole:
            store_16(row + i, pair)
        else:
            store_word_at(row, i, row_bytes, pair[0])
            store_word_at(row, i + 8, row_bytes, pair[1])


def normalise_from(out, x, weight, i, row_bytes, whole, root):
    """A thread's vectors from byte i of a row on, to ``out``."""
    step = cuda.blockDim.x * 16
    while i < row_bytes:
        one, other = vector_at(x, i, row_bytes, whole), vector_at(weight, i, row_bytes, whole)
        put_vector(out, i, row_bytes, whole, normalised(one, other, root))
        i += step


def squares_from(x, i, row_bytes, whole, total):
    """The squares of a thread's vectors from byte i of a row on, added to ``total``."""
    step = cuda.blockDim.x * 16
    while i < row_bytes:
        total = add_squares(total, vector_at(x, i, row_bytes, whole))
        i += step
    return total


def normalise_part(out, x, weight, part_bytes, inverse, eps):
    """This block's part of a row of 1 / inverse elements.

    The blocks of its cluster write the sums of their warps to one another, and each adds up all of them.
    """
    partial = cuda.shared.array(SUMS_OF_CLUSTER, WIDE)
    cluster_arrive()  # once all have come, they run, and have read the sums of the part before
    warps, warp, lane, i = cuda.blockDim.x // 32, cuda.threadIdx.x // 32, cuda.threadIdx.x & 31, cuda.threadIdx.x * 16
    whole = ALIGNED or ((out | x | weight | part_bytes) & 15) == 0
    one, scale = vector_at(x, i, part_bytes, whole), vector_at(weight, i, part_bytes, whole)
    following = i + cuda.blockDim.x * 16
    total = squares_from(x, following, part_bytes, whole, add_squares(WIDE(0), one))
    for offset in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(ALL, total, offset)
    blocks, rank = cluster_blocks(), cluster_rank()
    cluster_wait()
    if lane < blocks:
        write_shared(partial, rank * warps + warp, total, lane)
    cluster_arrive()
    cluster_wait()
    total = WIDE(0)
    k = lane
    while k < blocks * warps:
        total += partial[k]
        k += 32
    for offset in (16, 8, 4, 2, 1):  # alike in all threads
        total += cuda.shfl_xor_sync(ALL, total, offset)
    root = reciprocal_root(total * inverse + eps)
    put_vector(out, i, part_bytes, whole, normalised(one, scale, root))
    normalise_from(out, x, weight, following, part_bytes, whole, root)
    cuda.syncthreads()


def rms_norm(ctx, out, x, weight, n_elems, row_elems, eps_bits):
    """Two vectors of a thread stay in registers while their row is added up."""
    # Not before the loop of rounds around it, where what is made of them would hold registers and delay the first packet.
    weight, row_elems, eps_bits, thread = here(weight), here(row_elems), here(eps_bits), here(cuda.threadIdx.x)
    eps, inverse = WIDE(libdevice.longlong_as_double(eps_bits)), WIDE(1) / WIDE(row_elems)
    if CLUSTERED:
        normalise_part(out, x, weight, n_elems * ITEM_BYTES, inverse, eps)
        return
    partial = cuda.shared.array(SUMS, WIDE)  # those of a row are read while the next one's are written
    warps, lane = cuda.blockDim.x // 32, thread & 15
    row_bytes, end, step = row_elems * ITEM_BYTES, n_elems * ITEM_BYTES, cuda.blockDim.x * 16
    start, next_start = thread * 16, thread * 16 + step
    whole = ALIGNED or ((out | x | weight | row_bytes) & 15) == 0
    # The weights of a thread's first vectors, for all rows.
    scale, next_scale = vector_at(weight, start, row_bytes, whole), vector_at(weight, next_start, row_bytes, whole)
    row, sums = 0, 0
    while row < end:
        one, other = vector_at(x + row, start, row_bytes, whole), vector_at(x + row, next_start, row_bytes, whole)
        total = add_squares(add_squares(WIDE(0), one), other)
        total = warp_sum(squares_from(x + row, next_start + step, row_bytes, whole, total))
        if thread % 32 == 0:
            partial[sums + thread // 32] = total
        cuda.syncthreads()
        total = partial[sums + lane] if lane < warps else WIDE(0)
        for offset in (8, 4, 2, 1):  # alike in all threads
            total += cuda.shfl_xor_sync(ALL, total, offset)
        root = reciprocal_root(total * inverse + eps)
        put_vector(out + row, start, row_bytes, whole, normalised(one, scale, root))
        put_vector(out + row, next_start, row_bytes, whole, normalised(other, next_scale, root))
        normalise_from(out + row, x + row, weight, next_start + step, row_bytes, whole, root)
        row += row_bytes
        sums ^= WARPS
    cuda.syncthreads()


@cache
def steps(dtype: DType) -> dict[str, Any]:
    """The instructions of a norm and the type that it is computed in, by the names of their stubs (``stubs.py``)."""
    vectors, single = Vectors(dtype, "sum"), dtype.item_bytes < 4
    wide, kind = (types.float32, ir.FloatType()) if single else (types.float64, ir.DoubleType())

    def lanes(b: ir.IRBuilder, pair: ir.Value) -> list[ir.Value]:
        """A pair of elements one by one, in the wider type."""
        widened = vectors.widened(b, pair)
        found = [b.extract_element(widened, ir.Constant(_I32, k)) for k in range(vectors.width)]
        return found if single else [b.fpext(one, kind) for one in found]

    @intrinsic
    def add_squares(typing, total, pair):
        def code(context, b, signature, args):
            # Fused by name: not where a compiler finds that it may, or the bits would depend on the rest of a kernel.
            fused = cgutils.get_or_insert_function(b.module, ir.FunctionType(kind, [kind] * 3), FUSED[single])
            total = args[0]
            for one in lanes(b, args[1]):
                total = b.call(fused, [one, one, total])
            return total

        return wide(wide, PAIR), code

    @intrinsic
    def normalised(typing, pair, weights, scale):
        def code(context, b, signature, args):
            both = zip(lanes(b, args[0]), lanes(b, args[1]), strict=True)
            return packed(b, [b.fmul(b.fmul(x, args[2]), weight) for x, weight in both])

        return PAIR(PAIR, PAIR, wide), code

    def packed(b: ir.IRBuilder, values: list[ir.Value]) -> ir.Value:
        """Elements as a pair, each rounded."""
        return vectors.rounded(b, vector_of(b, values if single else [b.fptrunc(one, ir.FloatType()) for one in values]))

    root = libdevice.rsqrtf if single else libdevice.rsqrt
    return {"WIDE": wide, "add_squares": add_squares, "normalised": normalised, "reciprocal_root": root}
