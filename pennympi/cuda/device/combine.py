"""Sums of the elements in this PE's slots, in registers, on a GPU."""

from ...compile import context as ctx_words
from ...kernels.records import Piece
from ...kernels.slots import slot_at
from ..compiler.gpu import cuda
from .intrinsics import load_1, load_word, store_1
from .stubs import ALIGNED, ITEM_BYTES, add, begin, end, end_plus, plus_pair
from .words import load_pair, store_pair

PEER_OFFSETS, GAVE_UP = 8 * ctx_words.PEER_OFFSETS, 8 * ctx_words.GAVE_UP


def addend(piece, slots, source, me):
    """Address of the elements of PE ``source``: its slot, or this PE's src."""
    return piece.src if source == me else slot_at(slots, source)


def combine(pe, piece, slots, scratch):
    add_up(pe, piece, 0, False, slots)


def combine_put(pe, piece, dst, slots, scratch):
    add_up(pe, Piece(piece.out, piece.src, 0, piece.n_elems, piece.nbytes), dst, True, slots)


def add_up(pe, piece, dst, to_all, slots):
    """Write the sum to piece.out and, if ``to_all``, to ``dst`` on every other PE.  A PE that has given up writes its own
    ``dst`` only.  The compiler removes the branches that a caller does not use."""
    ctx, me, n_pes = pe
    out, src, residual = piece.out, piece.src, piece.residual
    nbytes = piece.n_elems * ITEM_BYTES
    thread = cuda.threadIdx.x
    step = cuda.blockDim.x * 16
    is_local = load_word(ctx + GAVE_UP) != 0
    i = thread * 16
    done = 0
    if ALIGNED or ((out | dst | src | residual) & 15) == 0:
        done = nbytes // 16 * 16
        while i + step < done:
            address = addend(piece, slots, 0, me) + i
            x, y = load_pair(address), load_pair(address + step)
            p, q = begin(x), begin(y)
            for source in range(1, n_pes):
                address = addend(piece, slots, source, me) + i
                x, y = load_pair(address), load_pair(address + step)
                p, q = add(p, x), add(q, y)
            if residual != 0:
                x = end_plus(p, n_pes, load_pair(residual + i))
                y = end_plus(q, n_pes, load_pair(residual + i + step))
            else:
                x, y = end(p, n_pes), end(q, n_pes)
            if to_all:
                for k in range(1, n_pes):
                    peer_dst = dst + peer_offset(ctx, me, k, n_pes, is_local) + i
                    store_pair(peer_dst, x)
                    store_pair(peer_dst + step, y)
            store_pair(out + i, x)
            store_pair(out + i + step, y)
            i += 2 * step
        while i < done:
            p = begin(load_pair(addend(piece, slots, 0, me) + i))
            for source in range(1, n_pes):
                p = add(p, load_pair(addend(piece, slots, source, me) + i))
            x = end_plus(p, n_pes, load_pair(residual + i)) if residual != 0 else end(p, n_pes)
            if to_all:
                for k in range(1, n_pes):
                    store_pair(dst + peer_offset(ctx, me, k, n_pes, is_local) + i, x)
            store_pair(out + i, x)
            i += step
    # One element at a time: the tail, or all elements if an address is not aligned.
    i = done + thread * ITEM_BYTES
    while not ALIGNED and i < nbytes:
        p = begin(element_pair(addend(piece, slots, 0, me) + i))
        for source in range(1, n_pes):
            p = add(p, element_pair(addend(piece, slots, source, me) + i))
        x = end_plus(p, n_pes, element_pair(residual + i)) if residual != 0 else end(p, n_pes)
        if to_all:
            for k in range(1, n_pes):
                store_element(dst + peer_offset(ctx, me, k, n_pes, is_local) + i, x)
        store_element(out + i, x)
        i += cuda.blockDim.x * ITEM_BYTES
    cuda.syncthreads()


def peer_offset(ctx, me, k, n_pes, is_local):
    """Difference between the addresses of the k-th PE after this PE and this PE; 0 if ``is_local``."""
    pe = me + k
    if pe >= n_pes:
        pe -= n_pes
    d = load_word(ctx + PEER_OFFSETS + 8 * pe)
    return 0 if is_local else d


def plus(ctx, dst, x, y, count):
    nbytes = count * ITEM_BYTES
    i = cuda.threadIdx.x * 16
    done = 0
    if ALIGNED or ((dst | x | y) & 15) == 0:
        done = nbytes // 16 * 16
        while i < done:
            store_pair(dst + i, plus_pair(load_pair(x + i), load_pair(y + i)))
            i += cuda.blockDim.x * 16
    i = done + cuda.threadIdx.x * ITEM_BYTES
    while not ALIGNED and i < nbytes:
        store_element(dst + i, plus_pair(element_pair(x + i), element_pair(y + i)))
        i += cuda.blockDim.x * ITEM_BYTES
    cuda.syncthreads()


def element_pair(address):
    """One element, in the first bytes of a pair."""
    word = 0
    for k in range(ITEM_BYTES):
        word |= (load_1(address + k) & 255) << (8 * k)
    return (word, 0)


def store_element(address, pair):
    """Write the first element of a pair."""
    for k in range(ITEM_BYTES):
        store_1(address + k, (pair[0] >> (8 * k)) & 255)
