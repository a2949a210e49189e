"""Implementations of the primitives for teams in which no pointer reaches some PE.

They reach such a PE by NVSHMEM's device calls, through a shim: a few C functions that NVRTC compiles once, and that are
linked with kernels.
"""

import ctypes
from functools import cache

from ...compile import context as ctx_words
from ...compile.cache import made_once
from ...kernels.block import POISON
from ...kernels.records import Piece
from ..compiler.gpu import cuda, types
from .combine import combine
from .intrinsics import fence_system, load_word, store_release
from .line_packets import receive_lines as plain_receive_lines
from .packets import receive_packets as plain_receive_packets
from .pointers import goal
from .primitives import copy
from .stubs import ITEM_BYTES
from .waits import GAVE_UP, poisoned
from .waits import wait as plain_wait
from .waits import wait_all as plain_wait_all

PEER_OFFSETS, PES = 8 * ctx_words.PEER_OFFSETS, 8 * ctx_words.N_PES
UNREACHABLE = ctx_words.UNREACHABLE
SHIM_REGISTERS = 64  # registers of a thread: at most those of the calling kernel

# Inlining keeps all but the called functions of NVSHMEM out of the code: 0.1 MB instead of 10.  NVRTC can't compile the
# headers of IBGDA and GPUNetIO.  From version 3.6 on NVSHMEM's build options leave both out under NVRTC, if the macro
# for inlining is defined before they are included; 3.5 has only IBGDA, which is left out here.  nvshmemx_cumodule_init
# looks for the two __constant__ variables.  NVSHMEM makes data visible to the GPU before its proxy thread sends the
# data; if the heap is in the host's memory (NVSHMEM_HEAP_KIND=SYSMEM) the CPU must see the data, too, hence show_host.
SHIM = r"""
#define NVSHMEM_ENABLE_ALL_DEVICE_INLINING
#include "non_abi/nvshmem_build_options.h"
#undef NVSHMEM_IBGDA_SUPPORT
#include <cuda/std/cstdint>
#include "device_host/nvshmem_common.cuh"
__constant__ nvshmemi_device_host_state_t nvshmemi_device_state_d;
__constant__ nvshmemi_version_t nvshmemi_device_lib_version_d = {
    NVSHMEM_VENDOR_MAJOR_VERSION, NVSHMEM_VENDOR_MINOR_VERSION, NVSHMEM_VENDOR_PATCH_VERSION};
#include <nvshmem.h>
#include <nvshmemx.h>
typedef long long word;
static __device__ void show_host(void) // after a barrier of the block
{ if (threadIdx.x == 0) __threadfence_system(); }
extern "C" __device__ int pennympi_put(word dst, word src, word nbytes, word pe)
{ show_host(); nvshmemx_putmem_nbi_block((void *)dst, (void *)src, nbytes, (int)pe); return 0; }
extern "C" __device__ int pennympi_get(word dst, word src, word nbytes, word pe)
{ nvshmemx_getmem_block((void *)dst, (void *)src, nbytes, (int)pe); return 0; }
extern "C" __device__ int pennympi_put_signal(word dst, word src, word nbytes, word signal, word value, word pe)
{
  show_host();
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
    """The shim's machine code for a compute capability, from the disk if an earlier process compiled it."""
    from cuda.core import Program, ProgramOptions
    from cuda.pathfinder import find_nvidia_header_directory as headers

    def make() -> bytes:
        paths = [path for path in map(headers, ("nvshmem", "cccl", "cudart")) if path]
        options = ProgramOptions(
            arch=f"sm_{cc[0]}{cc[1]}", std="c++17", include_path=paths, relocatable_device_code=True,
            max_register_count=SHIM_REGISTERS,
        )  # fmt: skip
        return Program(SHIM, "c++", options).compile("cubin").code

    label = f"shim_sm{cc[0]}{cc[1]}"
    return made_once(label, (label, nvshmem_version()), make)


def nvshmem_version() -> str:
    """The version of the loaded NVSHMEM library."""
    from cuda.pathfinder import load_nvidia_dynamic_lib
    from nvshmem import bindings as nvshmem

    load_nvidia_dynamic_lib("nvshmem_host")
    parts = [ctypes.c_int() for _ in range(3)]
    nvshmem.vendor_get_version_info(*map(ctypes.addressof, parts))
    return ".".join(str(part.value) for part in parts)


# Declarations of the shim's functions for Numba.  The linker adds the shim.
nvshmem_put, nvshmem_get, nvshmem_put_signal, nvshmem_signal, nvshmem_quiet = (
    cuda.declare_device(f"pennympi_{name}", f"int32({', '.join(['int64'] * n)})", abi="c")
    for name, n in (("put", 4), ("get", 4), ("put_signal", 6), ("signal", 3), ("quiet", 0))
)


def peer_offset(ctx, pe):
    """Difference between the addresses of PE pe and this PE, or UNREACHABLE."""
    return load_word(ctx + PEER_OFFSETS + 8 * pe)


def number(ctx, pe):
    """NVSHMEM's number of PE pe of the team."""
    return load_word(ctx + PEER_OFFSETS + 8 * (load_word(ctx + PES) + pe))


def put(ctx, dst, src, nbytes, pe):
    if peer_offset(ctx, pe) == UNREACHABLE:
        if not gave_up(ctx):
            nvshmem_put(dst, src, nbytes, number(ctx, pe))
        cuda.syncthreads()
    else:
        copy(goal(ctx, dst, src, pe), src, nbytes)


def gave_up(ctx):
    """Whether a wait of this PE has given up.  A barrier: all threads get the same answer, as NVSHMEM's calls require."""
    return cuda.syncthreads_or(types.int32(load_word(ctx + GAVE_UP) != 0)) != 0


def stage_for_put(ctx, staging, src, nbytes, pe):
    if peer_offset(ctx, pe) == UNREACHABLE:
        copy(staging, src, nbytes)
        return staging
    return src


def get(ctx, dst, src, nbytes, pe):
    d = peer_offset(ctx, pe)
    if d == UNREACHABLE:
        nvshmem_get(dst, src, nbytes, number(ctx, pe))
        cuda.syncthreads()
    else:
        copy(dst, src + d, nbytes)


def combine_put(pe, piece, dst, slots, scratch):
    # NVSHMEM can't read piece.out, which may be a plain array of the user.
    ctx, me, n_pes = pe
    nbytes = piece.n_elems * ITEM_BYTES
    combine(pe, Piece(scratch, piece.src, 0, piece.n_elems, piece.nbytes), slots, 0)
    for k in range(1, n_pes):
        put(ctx, dst, scratch, nbytes, (me + k) % n_pes)
    copy(piece.out, scratch, nbytes)


def put_signal(ctx, message, signal, value):
    dst, src, nbytes, pe = message
    d = peer_offset(ctx, pe)
    if d == UNREACHABLE:
        if not gave_up(ctx):
            nvshmem_put_signal(dst, src, nbytes, signal, value, number(ctx, pe))
        elif cuda.threadIdx.x == 0:
            nvshmem_signal(signal, value | POISON, number(ctx, pe))
        cuda.syncthreads()
    else:
        copy(goal(ctx, dst, src, pe), src, nbytes)
        if cuda.threadIdx.x == 0:
            store_release(signal + d, poisoned(ctx, value))


def fence(ctx):
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        nvshmem_quiet()
    fence_system()
    cuda.syncthreads()


def wait(ctx, signal, value, source):
    plain_wait(ctx, signal, value, source)
    fence_if_given_up(ctx)


def wait_all(ctx, signals, value, me, n_pes):
    plain_wait_all(ctx, signals, value, me, n_pes)
    fence_if_given_up(ctx)


def receive_packets(ctx, message, epoch):
    plain_receive_packets(ctx, message, epoch)
    fence_if_given_up(ctx)


def receive_lines(ctx, message, lines, epoch):
    plain_receive_lines(ctx, message, lines, epoch)
    fence_if_given_up(ctx)


def fence_if_given_up(ctx):
    """After a wait that gave up, complete all puts, since the kernel may then overwrite their sources."""
    if gave_up(ctx):
        fence(ctx)


def send_signal(ctx, signal, value, pe):
    """Set a word of a PE.  One thread calls this."""
    value = poisoned(ctx, value)
    d = peer_offset(ctx, pe)
    if d == UNREACHABLE:
        nvshmem_signal(signal, value, number(ctx, pe))
    else:
        store_release(signal + d, value)


def signal(ctx, signal, value, pe):
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        send_signal(ctx, signal, value, pe)


def signal_all(ctx, signals, value, me, n_pes):
    cuda.syncthreads()
    pe = cuda.threadIdx.x
    while pe < n_pes:
        if pe != me:
            send_signal(ctx, signals + 8 * me, value, pe)
        pe += cuda.blockDim.x
