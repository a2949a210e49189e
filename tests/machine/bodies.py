"""Bodies of the primitives, but for packets: what a GPU does, as weakly ordered as it may."""

from collections.abc import Callable
from functools import cache
from typing import Any

from greenlet import getcurrent

from pennympi.compile.bind import bind, grouped, signs

from .faults import Fault
from .packets import PACKET_BODIES, drain, syncs

BODIES: dict[str, Any] = {}


def body(function: Callable[..., Any]) -> Callable[..., Any]:
    """Enter a function as the body of the primitive of its name; warps that lag behind catch up first."""
    BODIES[function.__name__] = syncs(function)
    return function


def quick(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same for what no other thread can see."""
    BODIES[function.__name__] = function
    return function


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
    return getcurrent().index


@quick
def blocks():
    return getcurrent().launch.blocks


@quick
def lanes(start, stop):
    return range(start, stop)


@quick
def alone():
    return True


@quick
def first():
    return True


@quick
def real(x):
    return getcurrent().item.type(x)


@quick
def block_sum(x):
    return x


@quick
def product(x, y):
    return x * y


@quick
def sync():
    drain(getcurrent())


@body
def arrive_last(counter):
    b = getcurrent()
    b.stores.release()
    words = b.memory.words[b.pe]
    b.memory.holds(counter, 8)
    words[counter >> 3] += 1
    last = words[counter >> 3] == b.launch.blocks
    if last:
        words[counter >> 3] = 0
    b.pause()
    return last


@body
def lock(word):
    b = getcurrent()
    b.memory.holds(word, 8)
    words = b.memory.words[b.pe]
    while words[word >> 3]:
        b.sleep(("lock", b.pe, word))
    words[word >> 3] = 1
    b.pause()


@body
def unlock(word):
    b = getcurrent()
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
    for k, value in enumerate(x):
        add_shared(base, k, int(value))


@body
def copy(dst, src, nbytes):
    if nbytes <= 0:
        return
    b = getcurrent()
    b.memory.holds(dst, nbytes), b.memory.holds(src, nbytes)
    own = b.memory.bytes[b.pe]
    for start, stop in b.scheduler.cuts(nbytes):
        own[dst + start : dst + stop] = own[src + start : src + stop]
        b.pause()


# Partial results -----------------------------------------------------------------------


def by_parts(count, dst, kind, *sources):
    """dst (count,) of a dtype = the sum of the sources, (address, dtype) each, part after part."""
    if count <= 0:
        return
    b = getcurrent()
    views = [b.memory.elements(b.pe, at, count, dtype) for at, dtype in ((dst, kind), *sources)]
    for start, stop in b.scheduler.cuts(count):
        total = views[1][start:stop].astype(b.partial)
        for view in views[2:]:
            total += view[start:stop]
        views[0][start:stop] = total
        b.pause()


@body
def widen(ctx, dst, src, count):
    b = getcurrent()
    by_parts(count, dst, b.partial, (src, b.item))


@body
def reduce(ctx, dst, part, src, count):
    b = getcurrent()
    by_parts(count, dst, b.partial, (part, b.partial), (src, b.item))


@body
def finish(ctx, dst, part, src, count):
    b = getcurrent()
    by_parts(count, dst, b.item, (part, b.partial), (src, b.item))


@body
def merge(ctx, dst, part, other, count):
    b = getcurrent()
    by_parts(count, dst, b.partial, (part, b.partial), (other, b.partial))


@body
def finish_merge(ctx, dst, part, other, count):
    b = getcurrent()
    by_parts(count, dst, b.item, (part, b.partial), (other, b.partial))


@body
def plus(ctx, dst, x, y, count):
    b = getcurrent()
    by_parts(count, dst, b.item, (x, b.item), (y, b.item))


@body
def combine(ctx, out, slots, slot_bytes, src, count, scratch, me, n_pes, residual=0):
    b = getcurrent()
    sources = [(src if pe == me else slots + pe * slot_bytes, b.item) for pe in range(n_pes)]
    if residual:
        sources.append((residual, b.item))
    by_parts(count, out, b.item, *sources)


@body
def combine_put(ctx, out, there, slots, slot_bytes, src, count, scratch, me, n_pes):
    b = getcurrent()
    beyond = any(b.network.reads_later(me, pe) for pe in range(n_pes))
    result = scratch if beyond else out
    combine(ctx, result, slots, slot_bytes, src, count, scratch, me, n_pes)
    for k in range(1, n_pes):
        b.network.put(b, there, result, count * b.item.itemsize, (me + k) % n_pes)
    if beyond:
        copy(out, result, count * b.item.itemsize)


# Peers ---------------------------------------------------------------------------------


@body
def put(ctx, dst, src, nbytes, pe):
    b = getcurrent()
    b.network.put(b, dst, src, nbytes, pe)


@body
def put_lines(ctx, dst, src, lines, pe):
    b = getcurrent()
    if not b.network.by_pointer(b.pe, pe):
        raise Fault(f"lines go to PE {pe}, which no pointer of PE {b.pe} reaches")
    order = list(range(lines.first, lines.stop))
    b.scheduler.rng.shuffle(order)
    for line in order:
        plane, row = divmod(line, lines.rows)
        to = dst + plane * lines.dst_plane_bytes + row * lines.dst_row_bytes
        b.network.put(b, to, src + plane * lines.src_plane_bytes + row * lines.src_row_bytes, lines.nbytes, pe)


@body
def staged(ctx, room, src, nbytes, pe):
    b = getcurrent()
    if not b.network.reads_later(b.pe, pe):
        return src
    copy(room, src, nbytes)
    return room


@body
def get(ctx, dst, src, nbytes, pe):
    if nbytes <= 0:
        return
    b = getcurrent()
    b.memory.holds(dst, nbytes), b.memory.holds(src, nbytes)
    if b.memory.is_plain(dst) and not b.network.by_pointer(b.pe, pe):
        raise Fault(f"a get by NVSHMEM into {dst}, which is a plain array: it must be symmetric or registered")
    there, own = b.memory.bytes[pe], b.memory.bytes[b.pe]
    for start, stop in b.scheduler.cuts(nbytes):
        b.pause()
        own[dst + start : dst + stop] = there[src + start : src + stop]


@body
def put_signal(ctx, dst, src, nbytes, signal, value, pe):
    b = getcurrent()
    b.network.put_signal(b, dst, src, nbytes, signal, value, pe)
    b.pause()


@body
def fence(ctx):
    b = getcurrent()
    b.network.fence(b)


@body
def signal(ctx, signal, value, pe):
    b = getcurrent()
    b.network.signal(b, signal, value, pe)
    b.pause()


@body
def wait(ctx, signal, value, source):
    b = getcurrent()
    b.memory.holds(signal, 8)
    b.wait(b.pe, signal, value)


@body
def refuse_count(ctx, why, found, wanted, pe):
    b = getcurrent()
    if not b.machine.patience.gave_up[b.pe]:
        b.machine.told_why.add(why)
        b.machine.mismatch(b.pe)


@body
def signal_all(ctx, signals, value, me, n_pes):
    b = getcurrent()
    others = [pe for pe in range(n_pes) if pe != me]
    b.scheduler.rng.shuffle(others)  # each by a thread of its own
    for pe in others:
        b.network.signal(b, signals + 8 * me, value, pe)
        b.pause()


@body
def wait_all(ctx, signals, value, me, n_pes):
    for pe in range(n_pes):
        if pe != me:
            wait(ctx, signals + 8 * pe, value, pe)


# Multicast -----------------------------------------------------------------------------


@body
def reduce_multicast(ctx, dst, src, count, scratch):
    if count <= 0:
        return
    b = getcurrent()
    views = [b.memory.elements(pe, src, count, b.item) for pe in range(b.machine.n_pes)]
    out = b.memory.elements(b.pe, dst, count, b.item)
    for start, stop in b.scheduler.cuts(count):
        out[start:stop] = sum(view[start:stop].astype(b.partial) for view in views)
        b.pause()


@body
def store_multicast(ctx, dst, src, nbytes):
    if nbytes <= 0:
        return
    b = getcurrent()
    b.memory.holds(dst, nbytes), b.memory.holds(src, nbytes)
    own = b.memory.bytes[b.pe]
    for start, stop in b.scheduler.cuts(nbytes):
        for pe in (b.pe,) if b.network.gave_up[b.pe] else range(b.machine.n_pes):
            b.network.store(b, pe, dst + start, own[src + start : src + stop].copy())
        b.pause()


@body
def meet_multicast(ctx, signal, value, n_pes):
    b = getcurrent()
    b.stores.release()
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


@body
def write_epoch(epochs, index, epoch):
    b = getcurrent()
    b.memory.holds(epochs + 8 * index, 8)
    b.memory.words[b.pe][(epochs >> 3) + index] = epoch


BODIES.update(PACKET_BODIES)
