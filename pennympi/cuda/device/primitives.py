"""Implementations on a GPU of the primitives that use this PE's memory alone.

They are plain functions.  For each kernel, ``compile.py`` binds copies of them, and replaces the stubs of
``stubs.py``.  A primitive that writes memory ends with a barrier of the block, so that kernels need none.  Loops are
``while`` loops, because a ``range`` with a step costs a 64-bit division.
"""

from ..compiler.gpu import cuda
from .intrinsics import (
    add_int64,
    bits_of,
    claim,
    copy_16,
    copy_one_16,
    count_up,
    fence_device,
    fence_system,
    load_1,
    load_4,
    load_acquire,
    load_word,
    multiply_rounded,
    store_1,
    store_4,
    store_release,
    store_word,
)

WORD = 8
ALL, LANES = 0xFFFFFFFF, 32  # mask of all lanes of a warp, and their number
SIX = 6  # parts of an exact sum (kernels/in_kernel/exact.py)
SUMS_OF_WARPS = 256  # most partial sums of a block: 8 sums of each of 32 warps


def block():
    return cuda.blockIdx.x


def blocks():
    return cuda.gridDim.x


def lanes(start, stop):
    return range(start + cuda.threadIdx.x, stop, cuda.blockDim.x)


def single_thread():
    return False


def is_leader():
    return cuda.threadIdx.x == 0


def sync():
    cuda.syncthreads()


def add_shared(base, index, value):
    add_int64(base + 8 * index, value)


def arrive_last(counter):
    last = cuda.shared.array(1, "int64")
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        fence_system()  # the last block's signal must come after the other blocks' puts
        last[0] = count_up(counter, cuda.gridDim.x - 1)
    cuda.syncthreads()
    return last[0] == cuda.gridDim.x - 1


def arrive(counter):
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        fence_device()
        add_int64(counter, 1)


def wait_arrivals(counter, value):
    if cuda.threadIdx.x == 0:
        while load_acquire(counter) < value:
            pass  # the blocks that arrive are running, and their own waits end
    cuda.syncthreads()


def lock(word):
    if cuda.threadIdx.x == 0:
        while not claim(word):
            pass  # the block that holds the lock is running and waits for no peer
        fence_system()
    cuda.syncthreads()


def unlock(word):
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        store_release(word, 0)


def warp_sum(x):
    """The sum of a warp's values, in its first thread."""
    offset = 16
    while offset > 0:
        x += cuda.shfl_down_sync(ALL, x, offset)
        offset >>= 1
    return x


def kept(upper, x, y):
    """(the number that a lane keeps, the number that it gives to its partner)."""
    return (y, x) if upper else (x, y)


def sums_of_warp(x):
    """The sums over a warp of the six numbers of a tuple; lanes 4 k to 4 k + 3 get sum k.

    In each step a lane gives half of its numbers to its partner in the other half of the lanes: 9 exchanges instead of
    30.
    """
    lane = cuda.laneid
    a, give_a = kept(lane & 16 != 0, x[0], x[4])
    b, give_b = kept(lane & 16 != 0, x[1], x[5])
    c, give_c = kept(lane & 16 != 0, x[2], 0.0)
    d, give_d = kept(lane & 16 != 0, x[3], 0.0)
    a += cuda.shfl_xor_sync(ALL, give_a, 16)
    b += cuda.shfl_xor_sync(ALL, give_b, 16)
    c += cuda.shfl_xor_sync(ALL, give_c, 16)
    d += cuda.shfl_xor_sync(ALL, give_d, 16)
    a, give_a = kept(lane & 8 != 0, a, c)
    b, give_b = kept(lane & 8 != 0, b, d)
    a += cuda.shfl_xor_sync(ALL, give_a, 8)
    b += cuda.shfl_xor_sync(ALL, give_b, 8)
    a, give_a = kept(lane & 4 != 0, a, b)
    a += cuda.shfl_xor_sync(ALL, give_a, 4)
    a += cuda.shfl_xor_sync(ALL, a, 2)
    return a + cuda.shfl_xor_sync(ALL, a, 1)


def block_sum(x):
    partial = cuda.shared.array(32, "float64")
    x = warp_sum(x)
    cuda.syncthreads()  # all threads have read the partials of the previous call
    if cuda.threadIdx.x % 32 == 0:
        partial[cuda.threadIdx.x // 32] = x
    cuda.syncthreads()
    total = 0.0
    for warp in range(cuda.blockDim.x // 32):
        total += partial[warp]
    return total


def add_block_sums(base, x):
    partial = cuda.shared.array(SUMS_OF_WARPS, "float64")
    thread, warps = cuda.threadIdx.x, cuda.blockDim.x // LANES
    cuda.syncthreads()  # all threads have read the partials of the previous call
    if len(x) == SIX:
        value = sums_of_warp(x)
        if thread & 3 == 0 and cuda.laneid < 4 * SIX:
            partial[(cuda.laneid >> 2) * warps + thread // LANES] = value
    else:
        k = 0
        while k < len(x):
            value = warp_sum(x[k])
            if cuda.laneid == 0:
                partial[k * warps + thread // LANES] = value
            k += 1
    cuda.syncthreads()
    if thread < 4 * len(x):  # four threads for each sum
        k, total = thread >> 2, 0.0
        for warp in range(thread & 3, warps, 4):
            total += partial[k * warps + warp]
        lanes_of_sums = (1 << (4 * len(x))) - 1
        total += cuda.shfl_xor_sync(lanes_of_sums, total, 2)
        total += cuda.shfl_xor_sync(lanes_of_sums, total, 1)
        if thread & 3 == 0 and total == total and total != 0.0:  # most bins are empty, and all blocks add to one line
            add_int64(base + WORD * k, int(total))
        elif thread == 0 and total != total:
            add_int64(base + WORD * len(x), 1)


def product(x, y):
    return multiply_rounded(x, y)


def multiply_add(x, y, z):
    return cuda.fma(x, y, z)


def bits(x):
    return bits_of(x)


def note_access(record, site, base, offset, nbytes):
    if claim(record):
        store_word(record + 8, site)
        store_word(record + 16, base)
        store_word(record + 24, offset)
        store_word(record + 32, nbytes)


def copy(dst, src, nbytes):
    thread = cuda.threadIdx.x
    threads = cuda.blockDim.x
    done = 0
    if ((dst | src) & 15) == 0:
        step = threads * 16
        vectors = nbytes // 16
        i = thread
        while i + 3 * threads < vectors:
            copy_16(dst + i * 16, src + i * 16, step)
            i += 4 * threads
        while i < vectors:
            copy_one_16(dst + i * 16, src + i * 16)
            i += threads
        done = vectors * 16
    elif ((dst | src) & 3) == 0:
        done = nbytes // 4 * 4
        i = thread * 4
        while i < done:
            store_4(dst + i, load_4(src + i))
            i += threads * 4
    i = done + thread
    while i < nbytes:
        store_1(dst + i, load_1(src + i))
        i += threads
    cuda.syncthreads()


def read_peer(peer_table, index):
    return load_word(peer_table + 8 * index)


def read_epoch(epochs, index):
    return load_word(epochs + 8 * index)


def write_epoch(epochs, index, epoch):
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        store_word(epochs + 8 * index, epoch)
