"""Implementations of the primitives that reach a peer through a pointer, over NVLink."""

from ...compile import context as ctx_words
from ..compiler.gpu import cuda
from .intrinsics import load_word, store_release
from .primitives import copy
from .waits import GAVE_UP, poisoned

PEER_OFFSETS = 8 * ctx_words.PEER_OFFSETS


def peer_address(ctx, address, pe):
    """Address in this process of PE pe's instance of a symmetric address."""
    return address + load_word(ctx + PEER_OFFSETS + 8 * pe)


def goal(ctx, dst, src, pe):
    """Address to which a put writes: dst on PE pe.  After this PE has given up, a put writes to its own source, since a
    peer may still read dst.  The loads of src do not wait for this address."""
    peer_dst = peer_address(ctx, dst, pe)
    return peer_dst if load_word(ctx + GAVE_UP) == 0 else src


def put(ctx, dst, src, nbytes, pe):
    copy(goal(ctx, dst, src, pe), src, nbytes)


def stage_for_put(ctx, staging, src, nbytes, pe):
    return src  # a store can read any memory of this PE


def get(ctx, dst, src, nbytes, pe):
    copy(dst, peer_address(ctx, src, pe), nbytes)


def put_signal(ctx, message, signal, value):
    dst, src, nbytes, pe = message
    copy(goal(ctx, dst, src, pe), src, nbytes)
    if cuda.threadIdx.x == 0:  # it reads GAVE_UP after the barrier: if a thread withheld its part, the signal is poison
        store_release(peer_address(ctx, signal, pe), poisoned(ctx, value))


def fence(ctx):
    cuda.syncthreads()  # a signal is a release store, which comes after all writes of the block


def signal(ctx, signal, value, pe):
    value = poisoned(ctx, value)  # the barrier hides the time of this load
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        store_release(peer_address(ctx, signal, pe), value)


def signal_all(ctx, signals, value, me, n_pes):
    value = poisoned(ctx, value)
    cuda.syncthreads()
    pe = cuda.threadIdx.x
    while pe < n_pes:
        if pe != me:
            store_release(peer_address(ctx, signals + 8 * me, pe), value)
        pe += cuda.blockDim.x
