"""Implementations of the primitives: what a GPU does, as weakly ordered as it may.  Of this PE's memory and of sums; the
others are in peers.py and packets.py.

A block has a few warps, each of which runs the kernel.  They meet where a GPU's block has a barrier, and nowhere else.
What all threads of a block do together, one warp does, which is drawn: it begins when that one comes.
A body takes the warp that calls it, and the arguments of the primitive.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from greenlet import getcurrent
from sweep_reference import multiply_add

from pennympi.kernels.slots import slot_at

Body = Callable[..., Any]
IMPLEMENTATIONS: dict[str, Body] = {}


def entered(work: Body, primitive: Body) -> Body:
    """Enter an implementation, under the name of its body, which is returned."""
    IMPLEMENTATIONS[work.__name__] = primitive
    return work


def each(work: Body) -> Body:
    """A primitive that each thread does for itself."""
    return entered(work, lambda *args: work(getcurrent(), *args))


def by_one(work: Body, before: bool = False, leader: bool = False) -> Body:
    """What one warp does, with a barrier at its end.

    before: with a barrier at its beginning, too;  leader: the first warp does it, as a GPU's first thread
    """

    def primitive(*args: Any) -> Any:
        b = getcurrent()
        if before:
            b.block.barrier(b, work.__name__)
        worker = 0 if leader else int(b.scheduler.random() * len(b.block.warps))
        return b.block.by_one(b, worker, work, args)

    return primitive


def one(work: Body) -> Body:
    """A primitive that any warp does."""
    return entered(work, by_one(work))


def leader(work: Body) -> Body:
    """A primitive that the first warp does."""
    return entered(work, by_one(work, leader=True))


def between_barriers(work: Body) -> Body:
    """The same with a barrier at the beginning, too."""
    return entered(work, by_one(work, before=True, leader=True))


def after_barrier(work: Body) -> Body:
    """A primitive that is a barrier, after which the first warp does the work and the others go on."""

    def primitive(*args: Any) -> None:
        b = getcurrent()
        b.block.barrier(b, work.__name__)
        if b.number == 0:
            work(b, *args)

    return entered(work, primitive)


@between_barriers
def arrive_last(b, counter):
    b.block.stores.release()
    count = b.memory.load(b.pe, counter) + 1
    last = count == b.launch.blocks
    b.memory.store(b.pe, counter, 0 if last else count)
    b.pause()
    return last


@leader
def lock(b, word):
    while b.memory.load(b.pe, word):
        b.sleep(("lock", b.pe, word))
    b.memory.store(b.pe, word, 1)
    b.pause()


@after_barrier
def unlock(b, word):
    b.memory.store(b.pe, word, 0)
    b.scheduler.wake(("lock", b.pe, word))


@each
def load(b, base, index):
    b.pause()
    return b.memory.elements(b.pe, base + index * b.item.itemsize, 1, b.item)[0]


@each
def store(b, base, index, value):
    b.memory.elements(b.pe, base + index * b.item.itemsize, 1, b.item)[0] = value
    b.pause()


@each
def add_shared(b, base, index, value):
    b.memory.store(b.pe, base + 8 * index, b.memory.load(b.pe, base + 8 * index) + value)
    b.pause()


@each
def add_block_sums(b, base, x):
    totals = b.block.total(b, np.array(x))
    if b.number == 0:
        for k, value in enumerate(totals):
            add_shared(b, base, k, int(value))


def parts(b, dst, src, nbytes):
    """(start, stop) of the parts in which bytes are moved.  Raises Fault if they are not inside one object each."""
    if nbytes > 0:
        b.memory.holds(dst, nbytes)
        b.memory.holds(src, nbytes)
        yield from b.scheduler.cuts(nbytes)


@one
def copy(b, dst, src, nbytes):
    own = b.memory.bytes[b.pe]
    for start, stop in parts(b, dst, src, nbytes):
        own[dst + start : dst + stop] = own[src + start : src + stop]
        b.pause()


@after_barrier
def write_epoch(b, epochs, index, epoch):
    b.memory.store(b.pe, epochs + 8 * index, epoch)


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
    """Enter a primitive whose sum and addends are elements (e) or partials (p): (ctx, sum, addends..., count)."""

    def work(b, ctx, *args):
        dtypes = [b.item if kind == "e" else b.partial for kind in kinds]
        (dst, kind), *sources = zip(args[:-1], dtypes, strict=True)
        by_parts(b, args[-1], dst, kind, *sources)

    work.__name__ = name
    one(work)


for _name, _kinds in {
    "to_partials": "pe", "reduce": "ppe", "reduce_and_round": "epe", "reduce_partials": "ppp",
    "reduce_partials_and_round": "epp", "plus": "eee",
}.items():  # fmt: skip
    sum_of(_name, _kinds)


@one
def combine(b, pe, piece, slots, scratch):
    sources = [(piece.src if k == pe.me else slot_at(slots, k), b.item) for k in range(pe.n_pes)]
    by_parts(b, piece.n_elems, piece.out, b.item, *sources, *([(piece.residual, b.item)] if piece.residual else []))


IMPLEMENTATIONS |= {
    "single_thread": lambda: True,
    "product": lambda x, y: x * y,
    "multiply_add": multiply_add,
    "bits": lambda x: int(np.float64(x).view(np.int64)),
}
for _name, _work in {
    "block": lambda b: b.block.index,
    "blocks": lambda b: b.launch.blocks,
    "lanes": lambda b, start, stop: range(start + b.number, stop, len(b.block.warps)),
    "is_leader": lambda b: b.number == 0,
    "real": lambda b, x: b.item.type(x),
    "sync": lambda b: b.block.barrier(b, "sync"),
    "block_sum": lambda b, x: b.block.total(b, x),
    "read_peer": lambda b, peer_table, index: b.memory.load(b.pe, peer_table + 8 * index),
    "read_epoch": lambda b, epochs, index: b.memory.load(b.pe, epochs + 8 * index),
}.items():
    _work.__name__ = _name
    each(_work)
