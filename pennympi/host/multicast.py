"""Bodies of the multicast primitives on a CPU: a loop over the PEs' instances, in order."""

from ..compile import context as h
from .combine import STRIP_ELEMS
from .intrinsics import call_loop, copy_bytes, load_word
from .primitives import BODIES, at, body, put, send, wait


@body
def reduce_multicast(here, dst, src, count, scratch):
    n_pes = load_word(here + 8 * h.N_PES)
    widen, add = load_word(here + 8 * h.WIDEN), load_word(here + 8 * h.REDUCE)
    finish = load_word(here + 8 * h.FINISH)
    item_bytes = load_word(here + 8 * h.ITEM_BYTES)
    for low in range(0, count, STRIP_ELEMS):
        n = min(STRIP_ELEMS, count - low)
        skip = low * item_bytes
        call_loop(widen, here, scratch, 0, at(here, src, 0) + skip, n)
        for pe in range(1, n_pes - 1):
            call_loop(add, here, scratch, scratch, at(here, src, pe) + skip, n)
        call_loop(finish, here, dst + skip, scratch, at(here, src, n_pes - 1) + skip, n)


@body
def store_multicast(here, dst, src, nbytes):
    me = load_word(here + 8 * h.ME)
    for pe in range(load_word(here + 8 * h.N_PES)):
        if pe == me:
            copy_bytes(dst, src, nbytes)
        else:
            put(here, dst, src, nbytes, pe)


@body
def meet_multicast(here, signal, value, n_pes):
    send(here, signal, value, load_word(here + 8 * h.ME))
    for pe in range(n_pes):
        wait(here, at(here, signal, pe), value, pe)


__all__ = ["BODIES"]
