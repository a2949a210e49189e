"""Implementations of the primitives that reach a peer by its pointer, over NVLink."""

from ...compile import context as ctx_words
from ..compiler.gpu import cuda
from .intrinsics import load_word, store_release
from .primitives import copy
from .waits import GAVE_UP, poisoned

PEER_OFFSETS = 8 * ctx_words.PEER_OFFSETS


def at(ctx, address, pe):
    """Address, in this process, of PE pe's instance of a symmetric address."""
    return address + load_word(ctx + PEER_OFFSETS + 8 * pe)


def goal(ctx, dst, src, pe):
    """Where a put of src goes: to PE pe's dst; once this PE has given up back to src, for a peer may still read what
    garbage would overwrite.  The loads of src need not wait to know which."""
    to = at(ctx, dst, pe)
    return to if load_word(ctx + GAVE_UP) == 0 else src


def put(ctx, dst, src, nbytes, pe):
    copy(goal(ctx, dst, src, pe), src, nbytes)


def stage_for_put(ctx, staging, src, nbytes, pe):
    return src  # a store can start anywhere


def get(ctx, dst, src, nbytes, pe):
    copy(dst, at(ctx, src, pe), nbytes)


def put_signal(ctx, message, signal, value):
    dst, src, nbytes, pe = message
    copy(goal(ctx, dst, src, pe), src, nbytes)
    if cuda.threadIdx.x == 0:  # which looks after all others have: if one kept its part back, the signal says so
        store_release(at(ctx, signal, pe), poisoned(ctx, value))


def fence(ctx):
    cuda.syncthreads()  # a signal is a release: it comes after all that the block has written


def signal(ctx, signal, value, pe):
    value = poisoned(ctx, value)  # loaded before the barrier, which hides it
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        store_release(at(ctx, signal, pe), value)


def signal_all(ctx, signals, value, me, n_pes):
    value = poisoned(ctx, value)
    cuda.syncthreads()
    pe = cuda.threadIdx.x
    while pe < n_pes:
        if pe != me:
            store_release(at(ctx, signals + 8 * me, pe), value)
        pe += cuda.blockDim.x
