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

    before: with a barrier at its beginning, too;  leader: the first warp does it, for a GPU's first thread
    """

    def primitive(*args: Any) -> Any:
        b = getcurrent()
        if before:
            b.block.barrier(b, work.__name__)
        worker = 0 if leader else int(b.scheduler.random() * len(b.block.warps))
        return b.block.by_one_warp(b, worker, work, args)

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
        b = getcurrent()
        b.block.barrier(b, work.__name__)
        if b.number == 0:
            work(b, *args)

    return registered(work, primitive)


@between_barriers
def arrive_last(b, counter):
    b.block.stores.release()
    b.memory.clocks.exchange(b.clock, b.pe, counter)
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
    b.memory.clocks.exchange(b.clock, b.pe, word)
    b.pause()


@after_barrier
def unlock(b, word):
    b.memory.store(b.pe, word, 0)
    b.memory.clocks.exchange(b.clock, b.pe, word)
    b.scheduler.wake(("lock", b.pe, word))


@each_thread
def load(b, base, index):
    b.pause()
    return number(b.item, b.memory.elements(b.pe, base + index * b.item.itemsize, 1, b.item, b)[0])


@each_thread
def store(b, base, index, value):
    b.memory.elements(b.pe, base + index * b.item.itemsize, 1, b.item, b, WRITE)[0] = value
    b.pause()


@each_thread
def add_shared(b, base, index, value):
    word = base + 8 * index
    b.clock.acquire(b.memory.clocks.words.get((b.pe, word)))
    b.memory.write(b, b.pe, word, 8)
    b.memory.store(b.pe, word, b.memory.load(b.pe, word) + value)
    b.memory.clocks.exchange(b.clock, b.pe, word)
    b.pause()


@each_thread
def add_block_sums(b, base, x):
    totals = b.block.total(b, np.array(x))
    if b.number == 0:
        for k, value in enumerate(totals):
            add_shared(b, base, k, int(value))


def parts(b, dst, src, nbytes, pe):
    """(start, stop) of the parts in which bytes from PE ``pe`` are moved.  Raises OutOfBounds."""
    if nbytes > 0:
        b.memory.inside(b, WRITE, b.pe, dst, nbytes)
        b.memory.inside(b, READ, pe, src, nbytes)
        yield from b.scheduler.cuts(nbytes)


@any_warp
def copy(b, dst, src, nbytes):
    for start, stop in parts(b, dst, src, nbytes, b.pe):
        data = b.memory.read(b, b.pe, src + start, stop - start)
        b.memory.write(b, b.pe, dst + start, stop - start)[:] = data
        b.pause()


@after_barrier
def write_epoch(b, epochs, index, epoch):
    b.memory.store(b.pe, epochs + 8 * index, epoch)


OPERATIONS = {"sum": np.add, "avg": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}


def combined(b, op, addends, closes, residual=None):
    """op over the addends, as partials.  If ``closes``, an "avg" is divided by the PEs and gets the residual."""
    total = addends[0].astype(b.partial)
    for addend in addends[1:]:
        total = OPERATIONS[op](total, addend.astype(b.partial))
    if closes and op == "avg":
        n = len(b.pes)
        total = total / n if total.dtype.kind not in "iu" else np.sign(total) * (abs(total) // n)
    return total if residual is None else total + residual.astype(b.partial)


def by_parts(b, count, dst, sources, op, closes, residual=0):
    """dst (count,) = op over the sources plus the residual, part by part.  dst, sources: (address, dtype)"""
    if count <= 0:
        return
    moved = [*sources, (residual, b.item)] if residual else sources
    for address, dtype in (dst, *moved):
        b.memory.elements(b.pe, address, count, dtype)
    for start, stop in b.scheduler.cuts(count):
        n = stop - start
        addends = [b.memory.elements(b.pe, address + start * dtype.itemsize, n, dtype, b) for address, dtype in moved]
        addend = addends.pop() if residual else None
        total, (address, dtype) = combined(b, op, addends, closes, addend), dst
        b.memory.elements(b.pe, address + start * dtype.itemsize, n, dtype, b, WRITE)[:] = total
        b.pause()


def sum_of(name, kinds):
    """Register a primitive (ctx, sum, addends..., count) whose sum and addends are elements (e) or partials (p)."""

    def work(b, ctx, *args):
        dtypes = [b.item if kind == "e" else b.partial for kind in kinds]
        dst, *sources = zip(args[:-1], dtypes, strict=True)
        by_parts(b, args[-1], dst, sources, "sum" if name == "plus" else b.op, name.endswith("_and_round"))

    work.__name__ = name
    any_warp(work)


for _name, _kinds in {
    "to_partials": "pe", "reduce": "ppe", "reduce_and_round": "epe", "reduce_partials": "ppp",
    "reduce_partials_and_round": "epp", "plus": "eee",
}.items():  # fmt: skip
    sum_of(_name, _kinds)


@any_warp
def combine(b, pe, piece, slots, scratch):
    sources = [(piece.src if k == pe.me else slot_at(slots, k), b.item) for k in range(pe.n_pes)]
    by_parts(b, piece.n_elems, (piece.out, b.item), sources, b.op, True, piece.residual)


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
    "block": lambda b: b.block.index,
    "blocks": lambda b: b.launch.blocks,
    "lanes": lambda b, start, stop: range(start + b.number, stop, len(b.block.warps)),
    "is_leader": lambda b: b.number == 0,
    "real": lambda b, x: number(b.item, x),
    "sync": lambda b: b.block.barrier(b, "sync"),
    "block_sum": lambda b, x: b.block.total(b, x),
    "read_peer": lambda b, peer_table, index: b.memory.load(b.pe, peer_table + 8 * index),
    "read_epoch": lambda b, epochs, index: b.memory.load(b.pe, epochs + 8 * index),
}.items():
    _work.__name__ = _name
    each_thread(_work)
