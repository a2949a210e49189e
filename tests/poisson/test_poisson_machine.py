"""The persistent kernel on the machine of ``machine/``: rounds of iterations against one PE with one block."""

from functools import cache
from random import Random

import numpy as np
import pytest

pytest.importorskip("greenlet", reason="the machine runs blocks as greenlets")
from machine.bodies import BODIES, bound
from machine.device import DTYPES, Launch, Machine
from machine.faults import Fault
from machine.network import ANY_ORDER, NETWORKS, POINTER
from machine.team import place_of
from seed import SEED

from apps.poisson import persistent_kernel
from apps.poisson.fields import part_of
from apps.poisson.persistent import faces_of
from apps.poisson.persistent_kernel import iterate_of
from apps.poisson.points import width
from apps.poisson.problem import Problem
from apps.poisson.records import Scalars, Vectors
from apps.poisson.sums import floats
from apps.poisson.tiles import by_rows, tiles_of
from pennympi.grid.decomposition import Decomposition
from pennympi.grid.layout import layout_of
from pennympi.kernels.in_kernel import WORDS, WORDS_BYTES, meeting_words

PROGRAMS, ITERATIONS, ROUNDS = 3, 2, 2
DTYPE = np.dtype("float64")
CASES = [((5, 4), (False, True), (2, 1)), ((6, 3), (True, False), (3, 1)), ((2, 5, 2), (True, False, True), (2, 2, 1))]
CASES.append(((13, 3, 2), (False, True, False), (2, 1, 1)))
CASES.append(((4, 4, 3), (False, False, True), (2, 1, 1)))  # odd rows in even planes, which a pair begins before
CASES.append(((2, 5, 3), (True, True, False), (1, 2, 1)))  # odd planes, and even ones on another PE


@pytest.fixture(autouse=True)
def float64(monkeypatch):
    """The collectives' programs have no float64 on the machine."""
    monkeypatch.setitem(DTYPES, DTYPE.name, (DTYPE, DTYPE))


class OnePe:
    """What ``part_of`` and ``faces_of`` ask a grid and a team for."""

    def __init__(self, parts, me):
        self.parts, self.me = parts, me
        self.own, self.local, self.first = parts.own(me), parts.local(me), parts.first(me)

    def neighbour(self, side):
        step = [0] * len(self.own)
        step["xyz".index(side[0])] = 1 if side[1] == "+" else -1
        return self.parts.neighbour(self.me, tuple(step))

    def gather(self, own):
        return [self.parts.own(pe) for pe in range(len(self.parts.pes))]


def solved(network, shape, periodic, dims, seed, kernel_of=iterate_of):
    """(u of the whole grid, the sums r * r of the last round) on the PEs of a machine."""
    rng, n_pes, by_pairs = Random(seed), int(np.prod(dims)), not BODIES["alone"]()
    problem = Problem(shape, periodic)
    parts = Decomposition(shape, dims, periodic, (1,) * len(shape), tuple(range(n_pes)))
    machine = Machine(network, place_of([0] * n_pes if network == POINTER else list(range(n_pes)), network), rng)
    machine.warps = machine.warps if by_pairs else 1
    layout = layout_of(parts, 0, DTYPE.itemsize)
    starts = [machine.memory.allocate(layout.number * DTYPE.itemsize) for _ in range(4)]
    u, r, even, odd = (start + layout.first * DTYPE.itemsize for start in starts)
    sums, runs = machine.memory.allocate((ROUNDS * ITERATIONS + 2) * WORDS_BYTES), machine.memory.allocate(8)
    memory = machine.memory.allocate(8 * meeting_words(n_pes, 1))
    whole = np.random.default_rng(5).integers(-8, 9, shape).astype(DTYPE)
    padded = np.pad(whole, 1, mode="constant")
    for d, around in enumerate(periodic):
        if around:
            lines = np.moveaxis(padded, d, 0)
            lines[0], lines[-1] = lines[-2], lines[1]

    def field(pe, at):
        layout = layout_of(parts, pe, DTYPE.itemsize)
        rows = machine.memory.elements(pe, at, int(np.prod(layout.stored)), DTYPE).reshape(layout.stored)
        return rows[..., : layout.shape[-1]]

    for pe in machine.pes:
        one = OnePe(parts, pe.me)
        inside = tuple(slice(first, first + n) for first, n in zip(one.first, one.local, strict=True))
        field(pe.me, r)[...] = padded[inside]
        rr = machine.memory.elements(pe.me, sums + WORDS_BYTES, WORDS, np.dtype("int64"))
        rr[1] = int(np.square(whole).sum()) << 22  # in the unit of the second word
        part = part_of(one.own, layout_of(parts, pe.me, DTYPE.itemsize).strides, problem)
        faces = faces_of(one, one, problem, part)
        pe.slots = rng.randint(1, 3)
        planes, run = rng.randint(1, part.nx), 2 * rng.randint(1, part.ny * width(part) // 2 + 1)
        tiles = tiles_of(part, planes, run, pe.slots) if by_pairs else by_rows(part)
        kernel = kernel_of(DTYPE.itemsize)
        for k in range(ROUNDS):
            vectors, scalars = Vectors(u, r, even, odd), Scalars(0, 0, sums, runs, 0.0, ITERATIONS)
            numbers = (pe.me, *part, *vectors, *scalars, ITERATIONS, *faces, pe.me, n_pes, 1, memory, *tiles)
            pe.issue([Launch(f"round {k}", bound(kernel), numbers, tiles.blocks, DTYPE.name)])
    machine.run()
    found = np.empty(shape, DTYPE)
    for pe in range(n_pes):
        inside = tuple(slice(first, first + n) for first, n in zip(parts.first(pe), parts.own(pe), strict=True))
        found[inside] = field(pe, u)[(slice(1, -1),) * len(shape)]
    last = sums + (ROUNDS * ITERATIONS + 1) * WORDS_BYTES
    totals = [machine.memory.elements(pe, last, WORDS, np.dtype("int64")).copy() for pe in range(n_pes)]
    return found, [float(floats(one[None])[0]) for one in totals]


@pytest.fixture
def pairs(monkeypatch):
    """Call it, and the machine's thread takes columns of pairs from then on, as those of a GPU do."""

    def begin():
        monkeypatch.setitem(BODIES, "alone", lambda: False)
        bound.cache_clear()

    yield begin
    bound.cache_clear()


@pytest.mark.parametrize("by_pairs", [False, True], ids=["rows", "pairs"])
@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize(("shape", "periodic", "dims"), CASES, ids=str)
def test_the_bits_of_one_pe(pairs, network, shape, periodic, dims, by_pairs):
    alone, (rr,) = solved(POINTER, shape, periodic, (1,) * len(shape), SEED)
    assert alone.any() and rr > 0.0
    if by_pairs:
        pairs()
    for k in range(PROGRAMS):
        found, sums = solved(network, shape, periodic, dims, f"{SEED}/{k}")
        assert found.tobytes() == alone.tobytes() and sums == [rr] * len(sums)


def test_without_the_fence_halos_come_late(monkeypatch):
    """The machine finds a block that comes to the meeting while its rows are under way."""
    shape, periodic, dims = CASES[1]
    alone = solved(POINTER, shape, periodic, (1, 1), SEED)[0]
    monkeypatch.setattr(persistent_kernel, "fence", lambda ctx: None)
    hasty = cache(iterate_of.__wrapped__)  # made anew: the machine has bound the others
    with pytest.raises((Fault, AssertionError)):
        for k in range(400):
            found, _ = solved(ANY_ORDER, shape, periodic, dims, f"{SEED}/{k}", hasty)
            assert found.tobytes() == alone.tobytes()
