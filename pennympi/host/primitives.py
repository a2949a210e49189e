"""Implementations of the primitives on a CPU: a block is one thread, and ``lanes`` is a loop over all indices."""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from ..compile import context as ctx_words
from ..compile.context import BEHIND, ROUNDS, UNREACHABLE
from ..job.liveness import LATE_NS, LOOKED, RESUMED_NS, TICKED_NS, WAITS_FOR
from ..kernels.block import POISON
from ..kernels.in_kernel.exact import BAD_WORD, WORDS, SumWords, as_float
from .intrinsics import (
    call_1,
    call_7,
    call_loop,
    copy_bytes,
    fused_multiply_add,
    load_acquire,
    load_word,
    monotonic_ns,
    nap,
    read_block,
    read_blocks,
    relax,
    sched_yield,
    store_release,
    store_word,
)

# Linux may give the core straight back to a process that yields it.  So with more PEs than cores a waiting PE sleeps,
# which takes 50 us; with a core for each PE it yields.
NAPS_BETWEEN_LOOKS = 64
DEADLINE = -1  # in place of a time: it has passed
SPINS_BEFORE_YIELD, SPINS_BEFORE_SLEEP, SPINS_WHERE_CORES_ARE_SHARED = 64, 8192, 400
OPTIONS = {"nogil": True, "error_model": "numpy"}
sum_of_words = numba.njit(as_float, **OPTIONS)
IMPLEMENTATIONS: dict[str, Any] = {"block": read_block, "blocks": read_blocks, "lanes": range}


def implementation(function: Callable[..., Any]) -> Any:
    """Compile a function and enter it as the implementation of the primitive of its name."""
    IMPLEMENTATIONS[function.__name__] = compiled = numba.njit(function, **OPTIONS)
    return compiled


@implementation
def single_thread():
    return True


@implementation
def is_leader():
    return True


@implementation
def sync():
    pass


@implementation
def block_sum(x):
    return x


@implementation
def product(x, y):
    return x * y


@implementation
def multiply_add(x, y, z):
    return fused_multiply_add(x, y, z)


@implementation
def bits(x):
    return np.float64(x).view(np.int64)


@implementation
def add_shared(base, index, value):
    store_word(base + 8 * index, load_word(base + 8 * index) + value)


@implementation
def add_block_sums(base, x):
    for k in range(len(x)):
        if x[k] == x[k]:
            add_shared(base, k, int(x[k]))
        elif k == 0:
            add_shared(base, len(x), 1)


@implementation
def add_counted_sums(ctx, base, x):
    add_block_sums(base, x)  # without a count: the PE's only block has added when it goes on


@implementation
def counted_sums(ctx, base, before, now, keep, n):
    totals = np.zeros(4)
    for k in range(n):
        grown = [load_word(base + 8 * i) - load_word(before + 8 * i) for i in range(k * WORDS, (k + 1) * WORDS)]
        totals[k] = sum_of_words(SumWords(grown[0], grown[1], grown[2], grown[3], grown[4], grown[5], grown[BAD_WORD]))
        for i in range(WORDS):
            store_word(now + 8 * (k * WORDS + i), load_word(base + 8 * (k * WORDS + i)))
            if keep != 0 and k == 0:
                store_word(keep + 8 * i, grown[i])
    return totals[0], totals[1], totals[2], totals[3]


@implementation
def arrive_last(counter):
    return read_block() == read_blocks() - 1


@implementation
def lock(word):
    pass  # one block of this PE runs at a time


@implementation
def unlock(word):
    pass


@implementation
def copy(dst, src, nbytes):
    copy_bytes(dst, src, nbytes)


@implementation
def to_partials(ctx, dst, src, count):
    call_loop(load_word(ctx + 8 * ctx_words.TO_PARTIALS), ctx, dst, 0, src, count)


@implementation
def reduce(ctx, dst, part, src, count):
    call_loop(load_word(ctx + 8 * ctx_words.REDUCE), ctx, dst, part, src, count)


@implementation
def reduce_and_round(ctx, dst, part, src, count):
    call_loop(load_word(ctx + 8 * ctx_words.REDUCE_AND_ROUND), ctx, dst, part, src, count)


@implementation
def reduce_partials(ctx, dst, part, other, count):
    call_loop(load_word(ctx + 8 * ctx_words.REDUCE_PARTIALS), ctx, dst, part, other, count)


@implementation
def reduce_partials_and_round(ctx, dst, part, other, count):
    call_loop(load_word(ctx + 8 * ctx_words.REDUCE_PARTIALS_AND_ROUND), ctx, dst, part, other, count)


@numba.njit(**OPTIONS)
def at(ctx, address, pe):
    """Address, in this process, of PE pe's instance of a symmetric address."""
    return address + load_word(ctx + 8 * (ctx_words.PEER_OFFSETS + pe))


@numba.njit(**OPTIONS)
def remote(ctx, pe):
    """Whether no pointer reaches PE pe."""
    return load_word(ctx + 8 * (ctx_words.PEER_OFFSETS + pe)) == UNREACHABLE


@numba.njit(**OPTIONS)
def send_message(ctx, dst, src, nbytes, signal, value, pe):
    """Put to a PE of another node, then set its signal unless that is 0 (remote.py)."""
    call_7(load_word(ctx + 8 * ctx_words.SEND), ctx, dst, src, nbytes, signal, value, pe)


@implementation
def put(ctx, dst, src, nbytes, pe):
    if load_word(ctx + 8 * ctx_words.GAVE_UP) == 0:  # else it is garbage, and a peer may still read what is there
        if remote(ctx, pe):
            send_message(ctx, dst, src, nbytes, 0, 0, pe)
        else:
            copy_bytes(at(ctx, dst, pe), src, nbytes)


@implementation
def stage_for_put(ctx, staging, src, nbytes, pe):
    return src  # a put has read its source when it returns


@implementation
def get(ctx, dst, src, nbytes, pe):
    if remote(ctx, pe):
        call_7(load_word(ctx + 8 * ctx_words.GET), ctx, dst, src, nbytes, 0, 0, pe)
    else:
        copy_bytes(dst, at(ctx, src, pe), nbytes)


@numba.njit(**OPTIONS)
def send(ctx, signal, value, pe):
    """Set a word of PE pe, poisoned if this PE has given up."""
    value |= load_word(ctx + 8 * ctx_words.GAVE_UP)
    if remote(ctx, pe):
        send_message(ctx, 0, 0, 0, signal, value, pe)
    else:
        store_release(at(ctx, signal, pe), value)


@implementation
def put_signal(ctx, dst, src, nbytes, signal, value, pe):
    if remote(ctx, pe) and load_word(ctx + 8 * ctx_words.GAVE_UP) == 0:
        send_message(ctx, dst, src, nbytes, signal, value, pe)
    else:
        put(ctx, dst, src, nbytes, pe)
        send(ctx, signal, value, pe)


@implementation
def fence(ctx):
    pass  # a signal is a release store, or a message, and messages of a PE arrive in order


@implementation
def signal(ctx, signal, value, pe):
    send(ctx, signal, value, pe)


@implementation
def wait(ctx, signal, value, source):
    if load_word(ctx + 8 * ctx_words.GAVE_UP) != 0:
        return
    spins = since_ns = 0
    found = load_acquire(signal)
    while found < value:
        spins += 1
        since_ns = pause(ctx, spins, since_ns, source)
        if since_ns < 0:
            give_up(ctx, found, value, source, 0)
            return
        found = load_acquire(signal)
    if found >= POISON:
        give_up(ctx, found, value, source, 0)


@numba.njit(**OPTIONS)
def wait_tagged(ctx, signal, value, source):
    """``wait`` for an epoch with the tag of its call: the loop compares the numbers of the rounds only."""
    if load_word(ctx + 8 * ctx_words.GAVE_UP) != 0:
        return
    spins = since_ns = 0
    found = load_acquire(signal)
    while (found - value) & BEHIND != 0:
        spins += 1
        since_ns = pause(ctx, spins, since_ns, source)
        if since_ns < 0 or found >= POISON:
            give_up(ctx, found, value, source, ctx_words.TAGGED)
            return
        found = load_acquire(signal)
    if found != value and (found >= POISON or (found - value) & ROUNDS == 0):
        give_up(ctx, found, value, source, ctx_words.TAGGED)


@numba.njit(**OPTIONS)
def pause(ctx, spins, since_ns, source):
    """Wait a little between two polls of a signal; returns what the last ``look`` returned."""
    progress = load_word(ctx + 8 * ctx_words.PROGRESS)
    came = call_1(progress, ctx) if progress != 0 else 0
    patience = load_word(ctx + 8 * ctx_words.PATIENCE)
    if came > 0:
        pass  # it may be what this wait is for
    elif spins >= patience:
        nap(1)
    elif spins >= SPINS_BEFORE_YIELD:
        sched_yield()
    else:
        relax()
    if spins % (NAPS_BETWEEN_LOOKS if spins >= patience else ctx_words.SPINS_BETWEEN_LOOKS) == 0:
        return look(ctx, since_ns, source)
    return since_ns


@numba.njit(**OPTIONS)
def look(ctx, since_ns, source):
    """Check a wait's deadline.  Returns the time from which it counts (0: not yet), or DEADLINE if it has passed."""
    now_ns = monotonic_ns()
    own = load_word(load_word(ctx + 8 * ctx_words.ALIVE) + 8 * load_word(ctx + 8 * ctx_words.ME))
    if own != 0:
        store_word(own + 8 * WAITS_FOR, source)
        store_word(own + 8 * LOOKED, now_ns)
    watch = load_word(ctx + 8 * ctx_words.ABORT)
    if since_ns == 0:
        since_ns = now_ns
    since_ns = max(since_ns, last_alive_ns(ctx, source), load_acquire(watch + 8 * RESUMED_NS))
    limit_ns = load_word(ctx + 8 * ctx_words.TIMEOUT_NS)
    watched = now_ns - load_acquire(watch + 8 * TICKED_NS) < LATE_NS
    return DEADLINE if watched and limit_ns > 0 and now_ns - since_ns > limit_ns else since_ns


@numba.njit(**OPTIONS)
def last_alive_ns(ctx, source):
    """When PE ``source`` last showed a sign of life, or 0; this PE, which waits for it, then shows the same."""
    word = load_word(load_word(ctx + 8 * ctx_words.ALIVE) + 8 * source) if source >= 0 else 0
    if word == 0:
        return 0
    alive_ns = load_acquire(word)
    show_alive(ctx, alive_ns)
    return alive_ns


@numba.njit(**OPTIONS)
def show_alive(ctx, time_ns):
    """``liveness.show_alive`` for a kernel: show the PEs of the node that this PE is alive."""
    own = load_word(ctx + 8 * ctx_words.OWN_ALIVE)
    for k in range(load_word(own)):
        word = load_word(own + 8 + 8 * k)
        if load_word(word) < time_ns:
            store_word(word, time_ns)


@numba.njit(**OPTIONS)
def give_up(ctx, found, value, source, tagged):
    """Write the record of the first wait of this PE that gives up.  Later waits return at once."""
    record = load_word(ctx + 8 * ctx_words.RECORD)
    store_word(record + 8 * ctx_words.RECORD_SOURCE, source)
    store_word(record + 8 * ctx_words.RECORD_CALL, load_word(ctx + 8 * ctx_words.CALL) + tagged)
    store_word(record + 8 * ctx_words.RECORD_EPOCH, value)
    store_word(record + 8 * ctx_words.RECORD_FOUND, found)
    store_release(record + 8 * ctx_words.RECORD_TAKEN, 1)
    store_word(ctx + 8 * ctx_words.GAVE_UP, POISON)


@implementation
def refuse_count(ctx, why, found, wanted, pe):
    if load_word(ctx + 8 * ctx_words.GAVE_UP) == 0:
        give_up(ctx, found, wanted, pe, why * ctx_words.REFUSED)


@implementation
def signal_all(ctx, signals, value, me, n_pes):
    for k in range(1, n_pes):
        send(ctx, signals + 8 * me, value, (me + k) % n_pes)


@implementation
def wait_all(ctx, signals, value, me, n_pes):
    for k in range(1, n_pes):
        pe = (me + k) % n_pes
        wait(ctx, signals + 8 * pe, value, pe)


@numba.njit(**OPTIONS)
def wait_all_tagged(ctx, signals, value, me, n_pes):
    """``wait_all`` for epochs with the tag of their call."""
    for k in range(1, n_pes):
        pe = (me + k) % n_pes
        wait_tagged(ctx, signals + 8 * pe, value, pe)


TAGGED_IMPLEMENTATIONS = {"wait": wait_tagged, "wait_all": wait_all_tagged}


@implementation
def read_peer(peer_table, index):
    return load_word(peer_table + 8 * index)


@implementation
def read_epoch(epochs, index):
    return load_word(epochs + 8 * index)


@implementation
def write_epoch(epochs, index, epoch):
    store_word(epochs + 8 * index, epoch)
