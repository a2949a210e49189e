"""Bodies of the primitives, but for packets: what a GPU does, as weakly ordered as it may.

A block has a few warps, each of which runs the kernel.  They meet where a GPU's block has a barrier, and nowhere else.
What all threads of a block do together, one warp does, which is drawn: it begins when that one comes.
"""

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import numpy as np
from greenlet import getcurrent

from pennympi.compile.bind import bind, grouped, signs

from .faults import Fault
from .packets import PACKET_BODIES

BODIES: dict[str, Any] = {}


def quick(function: Callable[..., Any]) -> Callable[..., Any]:
    """Enter a function as the body of the primitive of its name: what each thread does for itself."""
    BODIES[function.__name__] = function
    return function


def body(before: bool = False, leader: bool = False) -> Callable[..., Any]:
    """A primitive whose work, a function of a warp and the arguments, one warp does, with a barrier at its end.

    before: with one at its beginning, too;  leader: it is the first warp, as what a GPU's first thread does
    """

    def enter(work: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(work)
        def primitive(*args: Any) -> Any:
            b = getcurrent()
            if before:
                b.block.barrier(b, work.__name__)
            worker = 0 if leader else int(b.scheduler.random() * len(b.block.warps))
            return b.block.by_one(b, worker, work, args)

        BODIES[work.__name__] = primitive
        return work

    return enter


def after_barrier(work: Callable[..., Any]) -> Callable[..., Any]:
    """A primitive that is a barrier, after which the first warp does the work and the others go on."""

    @wraps(work)
    def primitive(*args: Any) -> None:
        b = getcurrent()
        b.block.barrier(b, work.__name__)
        if b.number == 0:
            work(b, *args)

    BODIES[work.__name__] = primitive
    return work


@cache
def bound(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel over these bodies, called with the numbers of a launch."""
    kernel = bind(function, BODIES, lambda helper: helper)

    def run(*numbers: int) -> None:
        kernel(*grouped(function, numbers))

    run.signed = signs(function)  # type: ignore[attr-defined]
    return run


# Where am I, and this PE's memory ------------------------------------------------------


@quick
def block():
    return getcurrent().block.index


@quick
def blocks():
    return getcurrent().launch.blocks


@quick
def lanes(start, stop):
    b = getcurrent()
    return range(start + b.number, stop, len(b.block.warps))


@quick
def alone():
    return True


@quick
def first():
    return getcurrent().number == 0


@quick
def real(x):
    return getcurrent().item.type(x)


@quick
def block_sum(x):
    b = getcurrent()
    return b.block.total(b, x)


@quick
def product(x, y):
    return x * y


@quick
def sync():
    b = getcurrent()
    b.block.barrier(b, "sync")


@body(before=True, leader=True)
def arrive_last(b, counter):
    b.block.stores.release()
    words = b.memory.words[b.pe]
    b.memory.holds(counter, 8)
    words[counter >> 3] += 1
    last = words[counter >> 3] == b.launch.blocks
    if last:
        words[counter >> 3] = 0
    b.pause()
    return last


@body(leader=True)
def lock(b, word):
    b.memory.holds(word, 8)
    words = b.memory.words[b.pe]
    while words[word >> 3]:
        b.sleep(("lock", b.pe, word))
    words[word >> 3] = 1
    b.pause()


@after_barrier
def unlock(b, word):
    b.memory.words[b.pe][word >> 3] = 0
    b.scheduler.wake(("lock", b.pe, word))


@quick
def load(base, index):
    b = getcurrent()
    b.pause()
    return b.memory.elements(b.pe, base + index * b.item.itemsize, 1, b.item)[0]


@quick
def store(base, index, value):
    b = getcurrent()
    b.memory.elements(b.pe, base + index * b.item.itemsize, 1, b.item)[0] = value
    b.pause()


@quick
def add_shared(base, index, value):
    b = getcurrent()
    b.memory.holds(base + 8 * index, 8)
    b.memory.words[b.pe][(base >> 3) + index] += value
    b.pause()


@quick
def add_block_sums(base, x):
    b = getcurrent()
    totals = b.block.total(b, np.array(x))
    if b.number == 0:
        for k, value in enumerate(totals):
            add_shared(base, k, int(value))


@body()
def copy(b, dst, src, nbytes):
    if nbytes <= 0:
        return
    b.memory.holds(dst, nbytes), b.memory.holds(src, nbytes)
    own = b.memory.bytes[b.pe]
    for start, stop in b.scheduler.cuts(nbytes):
        own[dst + start : dst + stop] = own[src + start : src + stop]
        b.pause()


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


def enter_sum(name, kinds):
    """The primitive of a name, whose sum and addends are elements (e) or partials (p): (ctx, sum, addends..., count)."""

    def work(b, ctx, *args):
        dtypes = [b.item if kind == "e" else b.partial for kind in kinds]
        (dst, kind), *sources = zip(args[:-1], dtypes, strict=True)
        by_parts(b, args[-1], dst, kind, *sources)

    work.__name__ = name
    body()(work)


for name, kinds in dict(widen="pe", reduce="ppe", finish="epe", merge="ppp", finish_merge="epp", plus="eee").items():
    enter_sum(name, kinds)


@body()
def combine(b, ctx, out, slots, slot_bytes, src, count, scratch, me, n_pes, residual=0):
    sources = [(src if pe == me else slots + pe * slot_bytes, b.item) for pe in range(n_pes)]
    if residual:
        sources.append((residual, b.item))
    by_parts(b, count, out, b.item, *sources)


@body()
def combine_put(b, ctx, out, there, slots, slot_bytes, src, count, scratch, me, n_pes):
    beyond = any(b.network.reads_later(me, pe) for pe in range(n_pes))
    result = scratch if beyond else out
    combine(b, ctx, result, slots, slot_bytes, src, count, scratch, me, n_pes)
    for k in range(1, n_pes):
        b.network.put(b, there, result, count * b.item.itemsize, (me + k) % n_pes)
    if beyond:
        copy(b, out, result, count * b.item.itemsize)


# Peers ---------------------------------------------------------------------------------


@body()
def put(b, ctx, dst, src, nbytes, pe):
    b.network.put(b, dst, src, nbytes, pe)


@body()
def put_lines(b, ctx, dst, src, lines, pe):
    if not b.network.by_pointer(b.pe, pe):
        raise Fault(f"lines go to PE {pe}, which no pointer of PE {b.pe} reaches")
    order = list(range(lines.first, lines.stop))
    b.scheduler.rng.shuffle(order)
    for line in order:
        plane, row = divmod(line, lines.rows)
        to = dst + plane * lines.dst_plane_bytes + row * lines.dst_row_bytes
        b.network.put(b, to, src + plane * lines.src_plane_bytes + row * lines.src_row_bytes, lines.nbytes, pe)


@quick
def staged(ctx, room, src, nbytes, pe):
    b = getcurrent()
    if not b.network.reads_later(b.pe, pe):
        return src
    BODIES["copy"](room, src, nbytes)
    return room


@body()
def get(b, ctx, dst, src, nbytes, pe):
    if nbytes <= 0:
        return
    b.memory.holds(dst, nbytes), b.memory.holds(src, nbytes)
    if b.memory.is_plain(dst) and not b.network.by_pointer(b.pe, pe):
        raise Fault(f"a get by NVSHMEM into {dst}, which is a plain array: it must be symmetric or registered")
    there, own = b.memory.bytes[pe], b.memory.bytes[b.pe]
    for start, stop in b.scheduler.cuts(nbytes):
        b.pause()
        own[dst + start : dst + stop] = there[src + start : src + stop]


@body()
def message(b, dst, src, nbytes, signal, value, pe):
    b.network.put_signal(b, dst, src, nbytes, signal, value, pe)
    b.pause()


@quick
def put_signal(ctx, dst, src, nbytes, signal, value, pe):
    b = getcurrent()
    if not b.network.by_pointer(b.pe, pe):
        BODIES["message"](dst, src, nbytes, signal, value, pe)
        return
    BODIES["put"](ctx, dst, src, nbytes, pe)
    if b.number == 0:
        b.network.signal(b, signal, value, pe)
        b.pause()


@body(before=True, leader=True)
def fence(b, ctx):
    b.network.fence(b)


@after_barrier
def signal(b, ctx, signal, value, pe):
    b.network.signal(b, signal, value, pe)
    b.pause()


@body(leader=True)
def wait(b, ctx, signal, value, source):
    b.memory.holds(signal, 8)
    b.wait(b.pe, signal, value)


@quick
def refuse_count(ctx, why, found, wanted, pe):
    b = getcurrent()
    if b.number == 0 and not b.machine.patience.gave_up[b.pe]:
        b.machine.told_why.add(why)
        b.machine.mismatch(b.pe)


@after_barrier
def signal_all(b, ctx, signals, value, me, n_pes):
    others = [pe for pe in range(n_pes) if pe != me]
    b.scheduler.rng.shuffle(others)  # each by a thread of its own
    for pe in others:
        b.network.signal(b, signals + 8 * me, value, pe)
        b.pause()


@body(leader=True)
def wait_all(b, ctx, signals, value, me, n_pes):
    for pe in range(n_pes):
        if pe != me:
            wait(b, ctx, signals + 8 * pe, value, pe)


# Multicast -----------------------------------------------------------------------------


@body()
def reduce_multicast(b, ctx, dst, src, count, scratch):
    if count <= 0:
        return
    views = [b.memory.elements(pe, src, count, b.item) for pe in range(b.machine.n_pes)]
    out = b.memory.elements(b.pe, dst, count, b.item)
    for start, stop in b.scheduler.cuts(count):
        out[start:stop] = sum(view[start:stop].astype(b.partial) for view in views)
        b.pause()


@body()
def store_multicast(b, ctx, dst, src, nbytes):
    if nbytes <= 0:
        return
    b.memory.holds(dst, nbytes), b.memory.holds(src, nbytes)
    own = b.memory.bytes[b.pe]
    for start, stop in b.scheduler.cuts(nbytes):
        for pe in (b.pe,) if b.network.gave_up[b.pe] else range(b.machine.n_pes):
            b.network.store(b, pe, dst + start, own[src + start : src + stop].copy())
        b.pause()


@body(before=True, leader=True)
def meet_multicast(b, ctx, signal, value, n_pes):
    b.block.stores.release()
    b.network.set_word(b.pe, signal, b.network.poisoned(b, value))
    for pe in range(n_pes):
        b.wait(pe, signal, value)


# Routes and epochs ---------------------------------------------------------------------


@quick
def read_route(routes, index):
    b = getcurrent()
    return b.memory.words[b.pe][(routes >> 3) + index]


@quick
def read_epoch(epochs, index):
    b = getcurrent()
    b.memory.holds(epochs + 8 * index, 8)
    return b.memory.words[b.pe][(epochs >> 3) + index]


@after_barrier
def write_epoch(b, epochs, index, epoch):
    b.memory.holds(epochs + 8 * index, 8)
    b.memory.words[b.pe][(epochs >> 3) + index] = epoch


BODIES.update(PACKET_BODIES)
