"""Implementations of the primitives, but for packets: what a GPU does, as weakly ordered as it may.

A block has a few warps, each of which runs the kernel.  They meet where a GPU's block has a barrier, and nowhere else.
What all threads of a block do together, one warp does, which is drawn: it begins when that one comes.
A body takes the warp that calls it, and the arguments of the primitive.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from greenlet import getcurrent
from sweep_reference import multiply_add

from pennympi.compile.bind import bind, grouped, is_tagged
from pennympi.kernels.in_kernel import WORDS, SumWords, as_float

from .faults import Fault
from .packets import PACKET_BODIES

Body = Callable[..., Any]
COUNTED = 1 << 52  # what a block counts for in a word of a counted sum


def by_each(work: Body) -> Body:
    """A primitive that each thread does for itself."""
    return lambda *args: work(getcurrent(), *args)


def by_one(work: Body, before: bool = False, leader: bool = False) -> Body:
    """A primitive that one warp does, with a barrier at its end.

    before: with a barrier at its beginning, too;  leader: the first warp does it, as a GPU's first thread
    """

    def primitive(*args: Any) -> Any:
        b = getcurrent()
        if before:
            b.block.barrier(b, work.__name__)
        worker = 0 if leader else int(b.scheduler.random() * len(b.block.warps))
        return b.block.by_one(b, worker, work, args)

    return primitive


def by_leader(work: Body) -> Body:
    """``by_one``, the first warp."""
    return by_one(work, leader=True)


def between_barriers(work: Body) -> Body:
    """``by_leader``, with a barrier at the beginning, too."""
    return by_one(work, before=True, leader=True)


def after_barrier(work: Body) -> Body:
    """A primitive that is a barrier, after which the first warp does the work and the others go on."""

    def primitive(*args: Any) -> None:
        b = getcurrent()
        b.block.barrier(b, work.__name__)
        if b.number == 0:
            work(b, *args)

    return primitive


@cache
def bound(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel over these implementations, called with the numbers of a launch."""
    kernel = bind(function, IMPLEMENTATIONS, lambda helper: helper)

    def run(*numbers: int) -> None:
        kernel(*grouped(function, numbers))

    run.tagged = is_tagged(function)  # type: ignore[attr-defined]
    return run


# This PE's memory ----------------------------------------------------------------------


def add_counted_sums(b, ctx, base, x):
    totals = b.block.total(b, np.array(x))
    if b.number == 0:
        for k, value in enumerate((*totals, 0)):
            add_shared(b, base, k, int(value) + COUNTED)
        b.scheduler.wake(("counted", b.pe))


def counted_sums(b, ctx, base, before, now, keep, n):
    def grown(i):
        return b.memory.load(b.pe, base + 8 * i) - b.memory.load(b.pe, before + 8 * i)

    blocks, totals = b.launch.blocks * COUNTED, [0.0] * 4
    for k in range(n):
        words = [k * WORDS + i for i in range(WORDS - 1)]
        while any(grown(i) + COUNTED // 2 < blocks for i in words):
            b.sleep(("counted", b.pe))
        totals[k] = as_float(SumWords(*(grown(i) - blocks for i in words)))
        for i in words:
            if keep and k == 0:
                b.memory.store(b.pe, keep + 8 * i, grown(i) - blocks)
            b.memory.store(b.pe, now + 8 * i, b.memory.load(b.pe, base + 8 * i))
    return tuple(totals)


def arrive_last(b, counter):
    b.block.stores.release()
    count = b.memory.load(b.pe, counter) + 1
    last = count == b.launch.blocks
    b.memory.store(b.pe, counter, 0 if last else count)
    b.pause()
    return last


def lock(b, word):
    while b.memory.load(b.pe, word):
        b.sleep(("lock", b.pe, word))
    b.memory.store(b.pe, word, 1)
    b.pause()


def unlock(b, word):
    b.memory.store(b.pe, word, 0)
    b.scheduler.wake(("lock", b.pe, word))


def load(b, base, index):
    b.pause()
    return b.memory.elements(b.pe, base + index * b.item.itemsize, 1, b.item)[0]


def store(b, base, index, value):
    b.memory.elements(b.pe, base + index * b.item.itemsize, 1, b.item)[0] = value
    b.pause()


def add_shared(b, base, index, value):
    b.memory.store(b.pe, base + 8 * index, b.memory.load(b.pe, base + 8 * index) + value)
    b.pause()


def add_block_sums(b, base, x):
    totals = b.block.total(b, np.array(x))
    if b.number == 0:
        for k, value in enumerate(totals):
            add_shared(b, base, k, int(value))


def copy(b, dst, src, nbytes):
    if nbytes <= 0:
        return
    b.memory.holds(dst, nbytes)
    b.memory.holds(src, nbytes)
    own = b.memory.bytes[b.pe]
    for start, stop in b.scheduler.cuts(nbytes):
        own[dst + start : dst + stop] = own[src + start : src + stop]
        b.pause()


def write_epoch(b, epochs, index, epoch):
    b.memory.store(b.pe, epochs + 8 * index, epoch)


# Partial results -----------------------------------------------------------------------


def by_parts(b, count, dst, kind, *sources):
    """dst (count,) of a dtype = the sum of the sources, (address, dtype) each, part after part."""
    if count <= 0:
        return
    views = [b.memory.elements(b.pe, at, count, dtype) for at, dtype in ((dst, kind), *sources)]
    for start, stop in b.scheduler.cuts(count):
        total = views[1][start:stop].astype(b.partial)
        for view in views[2:]:
            total += view[start:stop]
        views[0][start:stop] = total
        b.pause()


def sum_of(name, kinds):
    """The primitive of a name, whose sum and addends are elements (e) or partials (p): (ctx, sum, addends..., count)."""

    def work(b, ctx, *args):
        dtypes = [b.item if kind == "e" else b.partial for kind in kinds]
        (dst, kind), *sources = zip(args[:-1], dtypes, strict=True)
        by_parts(b, args[-1], dst, kind, *sources)

    work.__name__ = name
    return by_one(work)


def combine(b, ctx, out, slots, slot_bytes, src, count, scratch, me, n_pes, residual=0):
    sources = [(src if pe == me else slots + pe * slot_bytes, b.item) for pe in range(n_pes)]
    by_parts(b, count, out, b.item, *sources, *([(residual, b.item)] if residual else []))


def combine_put(b, ctx, out, there, slots, slot_bytes, src, count, scratch, me, n_pes):
    beyond = any(b.network.reads_later(me, pe) for pe in range(n_pes))
    result = scratch if beyond else out
    combine(b, ctx, result, slots, slot_bytes, src, count, scratch, me, n_pes)
    for k in range(1, n_pes):
        b.network.put(b, there, result, count * b.item.itemsize, (me + k) % n_pes)
    if beyond:
        copy(b, out, result, count * b.item.itemsize)


# Peers ---------------------------------------------------------------------------------


def put(b, ctx, dst, src, nbytes, pe):
    b.network.put(b, dst, src, nbytes, pe)


def put_lines(b, ctx, dst, src, lines, pe):
    if not b.network.by_pointer(b.pe, pe):
        raise Fault(f"lines go to PE {pe}, which no pointer of PE {b.pe} reaches")
    order = list(range(lines.first, lines.stop))
    b.scheduler.rng.shuffle(order)
    for line in order:
        plane, row = divmod(line, lines.rows)
        to = dst + plane * lines.dst_plane_bytes + row * lines.dst_row_bytes
        b.network.put(b, to, src + plane * lines.src_plane_bytes + row * lines.src_row_bytes, lines.nbytes, pe)


def stage_for_put(b, ctx, room, src, nbytes, pe):
    if not b.network.reads_later(b.pe, pe):
        return src
    IMPLEMENTATIONS["copy"](room, src, nbytes)
    return room


def get(b, ctx, dst, src, nbytes, pe):
    if nbytes <= 0:
        return
    b.memory.holds(dst, nbytes)
    b.memory.holds(src, nbytes)
    if b.memory.is_plain(dst) and not b.network.by_pointer(b.pe, pe):
        raise Fault(f"a get by NVSHMEM into {dst}, which is a plain array: it must be symmetric or registered")
    there, own = b.memory.bytes[pe], b.memory.bytes[b.pe]
    for start, stop in b.scheduler.cuts(nbytes):
        b.pause()
        own[dst + start : dst + stop] = there[src + start : src + stop]


def message(b, ctx, dst, src, nbytes, word, value, pe):
    b.network.put_signal(b, dst, src, nbytes, word, value, pe)
    b.pause()


def put_signal(b, ctx, dst, src, nbytes, word, value, pe):
    if not b.network.by_pointer(b.pe, pe):
        IMPLEMENTATIONS["message"](ctx, dst, src, nbytes, word, value, pe)
        return
    IMPLEMENTATIONS["put"](ctx, dst, src, nbytes, pe)
    if b.number == 0:
        signal(b, ctx, word, value, pe)


def fence(b, ctx):
    b.network.fence(b)


def signal(b, ctx, word, value, pe):
    b.network.signal(b, word, value, pe)
    b.pause()


def signal_all(b, ctx, signals, value, me, n_pes):
    others = [pe for pe in range(n_pes) if pe != me]
    b.scheduler.rng.shuffle(others)  # each by a thread of its own
    for pe in others:
        signal(b, ctx, signals + 8 * me, value, pe)


def wait(b, ctx, word, value, source):
    b.memory.holds(word, 8)
    b.wait(b.pe, word, value)


def wait_all(b, ctx, signals, value, me, n_pes):
    for pe in range(n_pes):
        if pe != me:
            wait(b, ctx, signals + 8 * pe, value, pe)


def refuse_count(b, ctx, why, found, wanted, pe):
    if b.number == 0 and not b.machine.patience.gave_up[b.pe]:
        b.machine.told_why.add(why)
        b.machine.mismatch(b.pe)


# Multicast -----------------------------------------------------------------------------


def reduce_multicast(b, ctx, dst, src, count, scratch):
    if count <= 0:
        return
    views = [b.memory.elements(pe, src, count, b.item) for pe in range(b.machine.n_pes)]
    out = b.memory.elements(b.pe, dst, count, b.item)
    for start, stop in b.scheduler.cuts(count):
        out[start:stop] = sum(view[start:stop].astype(b.partial) for view in views)
        b.pause()


def store_multicast(b, ctx, dst, src, nbytes):
    if nbytes <= 0:
        return
    b.memory.holds(dst, nbytes)
    b.memory.holds(src, nbytes)
    own = b.memory.bytes[b.pe]
    for start, stop in b.scheduler.cuts(nbytes):
        for pe in (b.pe,) if b.network.gave_up[b.pe] else range(b.machine.n_pes):
            b.network.store(b, pe, dst + start, own[src + start : src + stop].copy())
        b.pause()


def meet_multicast(b, ctx, word, value, n_pes):
    b.block.stores.release()
    b.network.set_word(b.pe, word, b.network.poisoned(b, value))
    for pe in range(n_pes):
        b.wait(pe, word, value)


def entered(kind: Callable[[Body], Body], *works: Body) -> dict[str, Body]:
    """The primitives of a kind, by name."""
    return {work.__name__: kind(work) for work in works}


SUMS = {
    "to_partials": "pe",
    "reduce": "ppe",
    "reduce_and_round": "epe",
    "reduce_partials": "ppp",
    "reduce_partials_and_round": "epp",
    "plus": "eee",
}
IMPLEMENTATIONS: dict[str, Body] = {
    "block": by_each(lambda b: b.block.index),
    "blocks": by_each(lambda b: b.launch.blocks),
    "lanes": by_each(lambda b, start, stop: range(start + b.number, stop, len(b.block.warps))),
    "single_thread": lambda: True,
    "is_leader": by_each(lambda b: b.number == 0),
    "real": by_each(lambda b, x: b.item.type(x)),
    "product": lambda x, y: x * y,
    "multiply_add": multiply_add,
    "bits": lambda x: int(np.float64(x).view(np.int64)),
    "sync": by_each(lambda b: b.block.barrier(b, "sync")),
    "block_sum": by_each(lambda b, x: b.block.total(b, x)),
    "read_peer": by_each(lambda b, peer_table, index: b.memory.load(b.pe, peer_table + 8 * index)),
    "read_epoch": by_each(lambda b, epochs, index: b.memory.load(b.pe, epochs + 8 * index)),
    **{name: sum_of(name, kinds) for name, kinds in SUMS.items()},
    **entered(
        by_each, load, store, add_shared, add_block_sums, add_counted_sums, stage_for_put, put_signal, refuse_count
    ),
    **entered(by_one, copy, combine, combine_put, put, put_lines, get, message, reduce_multicast, store_multicast),
    **entered(by_leader, lock, wait, wait_all, counted_sums),
    **entered(between_barriers, arrive_last, fence, meet_multicast),
    **entered(after_barrier, unlock, signal, signal_all, write_epoch),
    **PACKET_BODIES,
}
