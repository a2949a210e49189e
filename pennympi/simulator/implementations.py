"""Implementations of the primitives, which are as weakly ordered as a GPU permits.  This file has the primitives of this
PE's memory and of sums; the others are in peers.py and packets.py.

A block has a few warps, and each warp runs the kernel.  The warps meet only at the barriers of a GPU's block.  Work of
all threads of a block is done by one warp, which is chosen at random; the work begins when this warp arrives.  A body
takes the warp that calls it, and the arguments of the primitive.
"""

from ctypes import CDLL, c_double, c_float
from ctypes.util import find_library
from typing import Any

import numpy as np
from greenlet import getcurrent

from ..kernels.slots import slot_at
from .shadow import READ, WRITE
from .single import number

Body = Any  # a function
IMPLEMENTATIONS: dict[str, Body] = {}


def registered(work: Body, primitive: Body) -> Body:
    """Register an implementation under the name of its body; return the body."""
    IMPLEMENTATIONS[work.__name__] = primitive
    return work


def each_thread(work: Body) -> Body:
    """A primitive that each thread does by itself."""
    return registered(work, lambda *args: work(getcurrent(), *args))


def by_one_warp(work: Body, before: bool = False, leader: bool = False) -> Body:
    """Work of one warp, with a barrier at its end.

    before: True for a barrier at the beginning, too
    leader: True if the first warp does the work, as the first thread of a GPU's block does
    """

    def primitive(*args: Any) -> Any:
        warp = getcurrent()
        if before:
            warp.block.barrier(warp, work.__name__)
        worker = 0 if leader else int(warp.scheduler.random() * len(warp.block.warps))
        return warp.block.by_one_warp(warp, worker, work, args)

    return primitive


def any_warp(work: Body) -> Body:
    """A primitive that any warp does."""
    return registered(work, by_one_warp(work))


def leader(work: Body) -> Body:
    """A primitive that the first warp does."""
    return registered(work, by_one_warp(work, leader=True))


def between_barriers(work: Body) -> Body:
    """A primitive that the first warp does, with a barrier at its beginning, too."""
    return registered(work, by_one_warp(work, before=True, leader=True))


def after_barrier(work: Body) -> Body:
    """A primitive that is a barrier, after which the first warp works and the other warps go on."""

    def primitive(*args: Any) -> None:
        warp = getcurrent()
        warp.block.barrier(warp, work.__name__)
        if warp.number == 0:
            work(warp, *args)

    return registered(work, primitive)


@between_barriers
def arrive_last(warp, counter):
    warp.block.stores.release()
    warp.memory.clocks.exchange(warp.clock, warp.pe, counter)
    count = warp.memory.load(warp.pe, counter) + 1
    last = count == warp.launch.blocks
    warp.memory.store(warp.pe, counter, 0 if last else count)
    warp.pause()
    return last


@after_barrier
def arrive(warp, counter):
    warp.block.stores.release()
    warp.memory.clocks.exchange(warp.clock, warp.pe, counter)
    warp.memory.store(warp.pe, counter, warp.memory.load(warp.pe, counter) + 1)
    warp.scheduler.wake(("arrivals", warp.pe, counter))
    warp.pause()


@leader
def wait_arrivals(warp, counter, value):
    while warp.memory.load(warp.pe, counter) < value:
        warp.sleep(("arrivals", warp.pe, counter))
    warp.clock.acquire(warp.memory.clocks.words.get((warp.pe, counter)))
    warp.pause()


@leader
def lock(warp, word):
    while warp.memory.load(warp.pe, word):
        warp.sleep(("lock", warp.pe, word))
    warp.memory.store(warp.pe, word, 1)
    warp.memory.clocks.exchange(warp.clock, warp.pe, word)
    warp.pause()


@after_barrier
def unlock(warp, word):
    warp.memory.store(warp.pe, word, 0)
    warp.memory.clocks.exchange(warp.clock, warp.pe, word)
    warp.scheduler.wake(("lock", warp.pe, word))


@each_thread
def load(warp, base, index):
    warp.pause()
    return number(warp.item, warp.memory.elements(warp.pe, base + index * warp.item.itemsize, 1, warp.item, warp)[0])


@each_thread
def store(warp, base, index, value):
    warp.memory.elements(warp.pe, base + index * warp.item.itemsize, 1, warp.item, warp, WRITE)[0] = value
    warp.pause()


@each_thread
def add_shared(warp, base, index, value):
    word = base + 8 * index
    warp.clock.acquire(warp.memory.clocks.words.get((warp.pe, word)))
    warp.memory.write(warp, warp.pe, word, 8)
    warp.memory.store(warp.pe, word, warp.memory.load(warp.pe, word) + value)
    warp.memory.clocks.exchange(warp.clock, warp.pe, word)
    warp.pause()


@each_thread
def add_block_sums(warp, base, x):
    totals = warp.block.total(warp, np.array(x))
    if warp.number == 0:
        for k, value in enumerate(totals):
            add_shared(warp, base, k, int(value))


def parts(warp, dst, src, nbytes, pe):
    """(start, stop) of the parts in which bytes from PE ``pe`` are moved.  Raises OutOfBounds."""
    if nbytes > 0:
        warp.memory.inside(warp, WRITE, warp.pe, dst, nbytes)
        warp.memory.inside(warp, READ, pe, src, nbytes)
        yield from warp.scheduler.cuts(nbytes)


@any_warp
def copy(warp, dst, src, nbytes):
    for start, stop in parts(warp, dst, src, nbytes, warp.pe):
        data = warp.memory.read(warp, warp.pe, src + start, stop - start)
        warp.memory.write(warp, warp.pe, dst + start, stop - start)[:] = data
        warp.pause()


@after_barrier
def write_epoch(warp, epochs, index, epoch):
    warp.memory.store(warp.pe, epochs + 8 * index, epoch)


OPERATIONS = {"sum": np.add, "avg": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}


def combined(warp, op, addends, closes, residual=None):
    """op over the addends, as partials.  If ``closes``, an "avg" is divided by the PEs and gets the residual."""
    total = addends[0].astype(warp.partial)
    for addend in addends[1:]:
        total = OPERATIONS[op](total, addend.astype(warp.partial))
    if closes and op == "avg":
        n = len(warp.pes)
        total = total / n if total.dtype.kind not in "iu" else np.sign(total) * (abs(total) // n)
    return total if residual is None else total + residual.astype(warp.partial)


def by_parts(warp, count, dst, sources, op, closes, residual=0):
    """dst (count,) = op over the sources plus the residual, part by part.  dst, sources: (address, dtype)"""
    if count <= 0:
        return
    moved = [*sources, (residual, warp.item)] if residual else sources
    for address, dtype in (dst, *moved):
        warp.memory.elements(warp.pe, address, count, dtype)
    for start, stop in warp.scheduler.cuts(count):
        n = stop - start
        addends = [
            warp.memory.elements(warp.pe, address + start * dtype.itemsize, n, dtype, warp) for address, dtype in moved
        ]
        addend = addends.pop() if residual else None
        total, (address, dtype) = combined(warp, op, addends, closes, addend), dst
        warp.memory.elements(warp.pe, address + start * dtype.itemsize, n, dtype, warp, WRITE)[:] = total
        warp.pause()


def sum_of(name, kinds):
    """Register a primitive (ctx, sum, addends..., count) whose sum and addends are elements (e) or partials (p)."""

    def work(warp, ctx, *args):
        dtypes = [warp.item if kind == "e" else warp.partial for kind in kinds]
        dst, *sources = zip(args[:-1], dtypes, strict=True)
        by_parts(warp, args[-1], dst, sources, "sum" if name == "plus" else warp.op, name.endswith("_and_round"))

    work.__name__ = name
    any_warp(work)


for _name, _kinds in {
    "to_partials": "pe", "reduce": "ppe", "reduce_and_round": "epe", "reduce_partials": "ppp",
    "reduce_partials_and_round": "epp", "plus": "eee",
}.items():  # fmt: skip
    sum_of(_name, _kinds)


@any_warp
def combine(warp, pe, piece, slots, scratch):
    sources = [(piece.src if k == pe.me else slot_at(slots, k), warp.item) for k in range(pe.n_pes)]
    by_parts(warp, piece.n_elems, (piece.out, warp.item), sources, warp.op, True, piece.residual)


_MATH = CDLL(find_library("m"))
_FUSED = {"float32": (_MATH.fmaf, c_float), "float64": (_MATH.fma, c_double)}
for _function, _number in _FUSED.values():
    _function.argtypes, _function.restype = [_number] * 3, _number


def multiply_add(x, y, z):
    """x * y + z of NumPy's floats of one dtype, rounded once."""
    dtype = np.asarray(x).dtype
    return dtype.type(_FUSED[dtype.name][0](x, y, z))


IMPLEMENTATIONS |= {
    "single_thread": lambda: True,
    "product": lambda x, y: x * y,
    "multiply_add": multiply_add,
    "bits": lambda x: int(np.float64(x).view(np.int64)),
}
for _name, _work in {
    "block": lambda warp: warp.block.index,
    "blocks": lambda warp: warp.launch.blocks,
    "lanes": lambda warp, start, stop: range(start + warp.number, stop, len(warp.block.warps)),
    "is_leader": lambda warp: warp.number == 0,
    "real": lambda warp, x: number(warp.item, x),
    "sync": lambda warp: warp.block.barrier(warp, "sync"),
    "block_sum": lambda warp, x: warp.block.total(warp, x),
    "read_peer": lambda warp, peer_table, index: warp.memory.load(warp.pe, peer_table + 8 * index),
    "read_epoch": lambda warp, epochs, index: warp.memory.load(warp.pe, epochs + 8 * index),
}.items():
    _work.__name__ = _name
    each_thread(_work)
