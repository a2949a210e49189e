"""Implementations of the multicast primitives on a CPU: a loop over the PEs' instances, in order."""

from ...compile import context as ctx_words
from .combine import STRIP_ELEMS
from .intrinsics import call, copy_bytes, load_word
from .lines import IMPLEMENTATIONS
from .primitives import implementation, peer_address, put, send
from .waits import wait_tagged


@implementation
def reduce_multicast(ctx, dst, src, count, scratch):
    n_pes = load_word(ctx + 8 * ctx_words.N_PES)
    to_partials = load_word(ctx + 8 * ctx_words.TO_PARTIALS)
    reduce = load_word(ctx + 8 * ctx_words.REDUCE)
    reduce_and_round = load_word(ctx + 8 * ctx_words.REDUCE_AND_ROUND)
    item_bytes = load_word(ctx + 8 * ctx_words.ITEM_BYTES)
    for low in range(0, count, STRIP_ELEMS):
        n = min(STRIP_ELEMS, count - low)
        skip = low * item_bytes
        call(to_partials, ctx, scratch, 0, peer_address(ctx, src, 0) + skip, n)
        for pe in range(1, n_pes - 1):
            call(reduce, ctx, scratch, scratch, peer_address(ctx, src, pe) + skip, n)
        call(reduce_and_round, ctx, dst + skip, scratch, peer_address(ctx, src, n_pes - 1) + skip, n)


@implementation
def store_multicast(ctx, dst, src, nbytes):
    me = load_word(ctx + 8 * ctx_words.ME)
    for pe in range(load_word(ctx + 8 * ctx_words.N_PES)):
        if pe == me:
            copy_bytes(dst, src, nbytes)
        else:
            put(ctx, dst, src, nbytes, pe)


@implementation
def meet_multicast(ctx, signal, value, n_pes):
    send(ctx, signal, value, load_word(ctx + 8 * ctx_words.ME))
    for pe in range(n_pes):
        wait_tagged(ctx, peer_address(ctx, signal, pe), value, pe)


__all__ = ["IMPLEMENTATIONS"]
