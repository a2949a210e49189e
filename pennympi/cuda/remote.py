"""Bodies of the primitives where a peer may be beyond the reach of a pointer.

Such a peer is reached by NVSHMEM's device calls, through a shim of a few C
functions that NVRTC compiles once to LTO-IR.
"""

from functools import cache
from typing import Any

from numba import cuda, int32

from ..compile import context as h
from ..compile.cache import folder, made_once
from ..kernels.block import POISON
from .combine import combine
from .intrinsics import fence_system, load_word, store_release
from .peers import goal
from .primitives import GAVE_UP, copy, poisoned
from .primitives import wait as wait_here
from .primitives import wait_all as wait_all_here

DELTAS, PES = 8 * h.DELTAS, 8 * h.N_PES
UNREACHABLE = h.UNREACHABLE
ITEM_BYTES = 1  # of an element: bound anew, like CALL

SHIM = r"""
#define __NVSHMEM_NUMBA_SUPPORT__
#include <nvshmem.h>
#include <nvshmemx.h>
typedef long long word;
extern "C" __device__ int pennympi_put(word dst, word src, word nbytes, word pe)
{ nvshmemx_putmem_nbi_block((void *)dst, (void *)src, nbytes, (int)pe); return 0; }
extern "C" __device__ int pennympi_get(word dst, word src, word nbytes, word pe)
{ nvshmemx_getmem_block((void *)dst, (void *)src, nbytes, (int)pe); return 0; }
extern "C" __device__ int pennympi_put_signal(word dst, word src, word nbytes, word signal, word value, word pe)
{
  nvshmemx_putmem_signal_nbi_block((void *)dst, (void *)src, nbytes, (uint64_t *)signal, value,
                                   NVSHMEM_SIGNAL_SET, (int)pe);
  return 0;
}
extern "C" __device__ int pennympi_signal(word signal, word value, word pe)
{ nvshmemx_signal_op((uint64_t *)signal, value, NVSHMEM_SIGNAL_SET, (int)pe); return 0; }
extern "C" __device__ int pennympi_quiet(void)
{ nvshmem_quiet(); return 0; }
"""


@cache
def shim(cc: tuple[int, int]) -> bytes:
    """The shim as LTO-IR for a compute capability, from disk if it was made before."""
    from cuda.pathfinder import find_nvidia_header_directory as headers
    from numba.cuda.core import config
    from numba.cuda.cudadrv import nvrtc
    from nvshmem.core import get_version

    def make() -> bytes:
        paths = [path for path in (headers("nvshmem"), headers("cccl"), headers("cudart")) if path]
        cuda.config.CUDA_NVRTC_EXTRA_SEARCH_PATHS = config.CUDA_NVRTC_EXTRA_SEARCH_PATHS = ":".join(paths)
        made, _log = nvrtc.compile(SHIM, "pennympi_shim.cu", cc, ltoir=True)
        return made.code

    version = get_version()
    return made_once(f"shim_sm{cc[0]}{cc[1]}.ltoir", folder(str(version)), make)


def device_calls() -> dict[str, Any]:
    """The shim's functions as Numba declarations; the linker adds the shim itself."""
    return {
        name: cuda.declare_device(f"pennympi_{name}", f"int32({', '.join(['int64'] * n)})", abi="c")
        for name, n in (("put", 4), ("get", 4), ("put_signal", 6), ("signal", 3), ("quiet", 0))
    }


_calls = device_calls()
nvshmem_put, nvshmem_get = _calls["put"], _calls["get"]
nvshmem_put_signal, nvshmem_signal, nvshmem_quiet = _calls["put_signal"], _calls["signal"], _calls["quiet"]


def delta(here, pe):
    """What to add to a symmetric address for PE pe, or UNREACHABLE."""
    return load_word(here + DELTAS + 8 * pe)


def number(here, pe):
    """What NVSHMEM calls PE pe of the team."""
    return load_word(here + DELTAS + 8 * (load_word(here + PES) + pe))


def put(here, dst, src, nbytes, pe):
    if delta(here, pe) == UNREACHABLE:
        if not gave_up(here):
            nvshmem_put(dst, src, nbytes, number(here, pe))
        cuda.syncthreads()
    else:
        copy(goal(here, dst, src, pe), src, nbytes)


def gave_up(here):
    """Whether this PE has given up, the same in all threads, which NVSHMEM's calls take together; a barrier."""
    return cuda.syncthreads_or(int32(load_word(here + GAVE_UP) != 0)) != 0


def staged(here, room, src, nbytes, pe):
    if delta(here, pe) == UNREACHABLE:
        copy(room, src, nbytes)
        return room
    return src


def get(here, dst, src, nbytes, pe):
    d = delta(here, pe)
    if d == UNREACHABLE:
        nvshmem_get(dst, src, nbytes, number(here, pe))
        cuda.syncthreads()
    else:
        copy(dst, src + d, nbytes)


def combine_put(here, out, there, slots, slot_bytes, src, count, scratch, me, n_pes):
    # NVSHMEM can't read out, which may be a plain array of the user.
    combine(here, scratch, slots, slot_bytes, src, count, 0, me, n_pes)
    for k in range(1, n_pes):
        put(here, there, scratch, count * ITEM_BYTES, (me + k) % n_pes)
    copy(out, scratch, count * ITEM_BYTES)


def put_signal(here, dst, src, nbytes, signal, value, pe):
    d = delta(here, pe)
    if d == UNREACHABLE:
        if not gave_up(here):
            nvshmem_put_signal(dst, src, nbytes, signal, value, number(here, pe))
        elif cuda.threadIdx.x == 0:
            nvshmem_signal(signal, value | POISON, number(here, pe))
        cuda.syncthreads()
    else:
        copy(goal(here, dst, src, pe), src, nbytes)
        if cuda.threadIdx.x == 0:
            store_release(signal + d, poisoned(here, value))


def fence(here):
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        nvshmem_quiet()
    fence_system()
    cuda.syncthreads()


def wait(here, signal, value, source):
    wait_here(here, signal, value, source)
    settle(here)


def wait_all(here, signals, value, me, n_pes):
    wait_all_here(here, signals, value, me, n_pes)
    settle(here)


def settle(here):
    """A wait that gave up proves nothing: what is under way has to leave its source before garbage gets there."""
    if gave_up(here):
        fence(here)


def one_signal(here, signal, value, pe):
    """One thread's signal."""
    value = poisoned(here, value)
    d = delta(here, pe)
    if d == UNREACHABLE:
        nvshmem_signal(signal, value, number(here, pe))
    else:
        store_release(signal + d, value)


def signal(here, signal, value, pe):
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        one_signal(here, signal, value, pe)


def signal_all(here, signals, value, me, n_pes):
    cuda.syncthreads()
    pe = cuda.threadIdx.x
    while pe < n_pes:
        if pe != me:
            one_signal(here, signals + 8 * me, value, pe)
        pe += cuda.blockDim.x


__all__ = [
    "combine_put", "fence", "get", "put", "put_signal", "shim", "signal", "signal_all", "staged", "wait", "wait_all"
]  # fmt: skip
