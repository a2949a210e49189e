"""Bodies of the primitives that reach a peer by its pointer, over NVLink."""

from numba import cuda

from .. import here as h
from .intrinsics import load_word, store_release
from .primitives import copy

DELTAS = 8 * h.DELTAS


def at(here, address, pe):
    """Address, in this process, of PE pe's instance of a symmetric address."""
    return address + load_word(here + DELTAS + 8 * pe)


def put(here, dst, src, nbytes, pe):
    copy(at(here, dst, pe), src, nbytes)


def staged(here, room, src, nbytes, pe):
    return src  # a store can start anywhere


def get(here, dst, src, nbytes, pe):
    copy(dst, at(here, src, pe), nbytes)


def put_signal(here, dst, src, nbytes, signal, value, pe):
    copy(at(here, dst, pe), src, nbytes)
    if cuda.threadIdx.x == 0:
        store_release(at(here, signal, pe), value)


def fence(here):
    cuda.syncthreads()  # a signal is a release: it comes after all that the block has written


def signal(here, signal, value, pe):
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        store_release(at(here, signal, pe), value)


def signal_all(here, signals, value, me, n_pes):
    cuda.syncthreads()
    pe = cuda.threadIdx.x
    while pe < n_pes:
        if pe != me:
            store_release(at(here, signals + 8 * me, pe), value)
        pe += cuda.blockDim.x
