"""Collectives whose parts have any length: random counts against NumPy, bit for bit, and plans replayed."""

import random
import time

import numpy as np
import pytest
from mpi4py import MPI
from on_device import device, to_numpy, write
from parts import end_of, starts_of
from reductions import in_order
from seed import SEED

from pennympi.arrays.dtypes import ALL as DTYPES

pytestmark = [pytest.mark.mpi, pytest.mark.hosts(most_pes=8)]

GUARD = 16  # elements around x and out that must not change
KINDS = {  # (random, from, to, n) -> elements
    "none": lambda rng, i, j, n: 0,
    "one": lambda rng, i, j, n: int(i == j == n - 1),
    "all to one": lambda rng, i, j, n: rng.randrange(3000) if j == n // 2 else 0,
    "empty PEs": lambda rng, i, j, n: 0 if (i + j) % 2 else rng.randrange(700),
    "odd": lambda rng, i, j, n: 2 * rng.randrange(500) + 1,
    "huge": lambda rng, i, j, n: (1 << 19) // n // n + rng.randrange(99),
}
MOVED = ("bfloat16", "float64", "int8", "complex128", "bool")
REDUCED = (
    ("bfloat16", "sum"),
    ("float32", "avg"),
    ("float16", "sum"),
    ("int64", "max"),
    ("uint8", "sum"),
    ("float64", "prod"),
)
# Each kind has two dtypes, each dtype several kinds.
MOVED_KINDS = [(MOVED[(k + j) % len(MOVED)], kind) for k, kind in enumerate(KINDS) for j in (0, 2)]
REDUCED_KINDS = [(*REDUCED[(k + j) % len(REDUCED)], kind) for k, kind in enumerate(KINDS) for j in (0, 3)]
NUMBERS = {"bool": 2, "int8": 100, "uint8": 100}


def shared(team, what):
    """Random numbers, the same on every PE."""
    return random.Random(f"{team.comm.bcast(SEED)}/{what}/{team.n_pes}")


def elements_of(name, rng, count):
    """Elements of a dtype, whose sums are not exact in floats."""
    numbers = np.random.default_rng(rng.getrandbits(48))
    whole = name in NUMBERS or DTYPES[name].kind in "iu"
    values = numbers.integers(0, NUMBERS.get(name, 1 << 20), count) if whole else numbers.standard_normal(count)
    return values.astype(DTYPES[name].numpy)


class Room:
    """An array of the device at a random place in a larger one; the rest of the larger one must not change."""

    def __init__(self, team, rng, dtype, count, symmetric=()):
        self.low_bytes = GUARD * dtype.item_bytes + rng.choice((0, 0, 1, 2, 4, 8))  # arrays may begin at any byte
        canary = np.full(self.low_bytes + (count + GUARD) * dtype.item_bytes, 0x5A, np.uint8)
        self.whole = device(team, canary)
        if symmetric:
            self.whole = symmetric[0][: len(canary)]
            write(self.whole, canary)
        self.dtype = dtype
        self.x = self.whole[self.low_bytes :][: count * dtype.item_bytes].view(dtype.numpy)

    def hold(self, values):
        """Whether the array has these elements, (start, values) each, and no byte outside changed."""
        wanted = np.full(len(self.whole), 0x5A, np.uint8)
        for start, one in values:
            at = self.low_bytes + start * self.dtype.item_bytes
            wanted[at : at + one.nbytes] = np.ascontiguousarray(one).view(np.uint8)
        return to_numpy(self.whole).tobytes() == wanted.tobytes()


def in_words(team, rng, *numbers):
    """Counts or displacements as a list, a tuple, or an array of the device."""
    kind = rng.randrange(3)
    return [one if kind == 0 else tuple(one) if kind == 1 else device(team, np.array(one, np.int64)) for one in numbers]


@pytest.fixture(params=["auto", "pairwise"])
def by(request):
    """The algorithm, as an argument of a call."""
    return {"algorithm": request.param}


@pytest.fixture(scope="module")
def symmetric(team):
    """Bytes of the symmetric heap: of x, and of out."""
    return [team.empty(5 << 20, "uint8") for _ in range(2)]


@pytest.mark.parametrize(("name", "kind"), MOVED_KINDS)
def test_all_to_allv(team, symmetric, by, name, kind):
    rng, n, me, dtype = shared(team, f"{name} {kind}"), team.n_pes, team.me, DTYPES[name]
    counts = [[KINDS[kind](rng, i, j, n) for j in range(n)] for i in range(n)]
    data = [[elements_of(name, rng, count) for count in one] for one in counts]  # from each PE for each
    own = random.Random(f"{SEED}/{me}/{name}/{kind}")
    for packed in (True, False):
        sent, taken = counts[me], [one[me] for one in counts]
        sends, takes = starts_of(sent, own, packed), starts_of(taken, own, packed)
        heap = kind == "odd" and packed
        ends = end_of(sends, sent), end_of(takes, taken)
        x, out = (Room(team, own, dtype, end, symmetric[k : k + 1] if heap else ()) for k, end in enumerate(ends))
        values = np.zeros(ends[0], dtype.numpy)
        for start, part in zip(sends, data[me], strict=True):
            values[start : start + len(part)] = part
        write(x.x, values)
        words = in_words(team, own, sent, taken, sends, takes)
        returned = team.all_to_allv(x.x, out.x, *(words[:2] if packed else words), **by)
        right = out.hold([(start, one[me]) for start, one in zip(takes, data, strict=True)])
        assert all(team.comm.allgather(right and returned is out.x and x.hold([(0, values)]))), (packed, counts)


@pytest.mark.parametrize(("name", "kind"), MOVED_KINDS)
def test_all_gatherv(team, by, name, kind):
    """Out of place and in place."""
    rng, n, me, dtype = shared(team, f"{name} {kind}"), team.n_pes, team.me, DTYPES[name]
    counts = [KINDS[kind](rng, i, (i + 1) % n if kind == "all to one" else i, n) for i in range(n)]
    values = [elements_of(name, rng, one) for one in counts]
    own = random.Random(f"{SEED}/{me}/{name}/{kind}")
    for packed, in_place in ((True, ""), (False, ""), (False, "IN_PLACE"), (True, "IN_PLACE"), (False, "part")):
        takes = starts_of(counts, own, packed)
        x, out = Room(team, own, dtype, counts[me]), Room(team, own, dtype, end_of(takes, counts))
        part = out.x[takes[me] : takes[me] + counts[me]]
        write(part if in_place else x.x, values[me])
        words = shared(team, f"{name} {kind} {packed} {in_place}")  # all PEs pass counts in the same form
        in_counts, displacements = (counts, takes) if in_place == "part" else in_words(team, words, counts, takes)
        where = by if packed else {"displacements": displacements, **by}
        team.all_gatherv({"IN_PLACE": MPI.IN_PLACE, "part": part}.get(in_place, x.x), out.x, in_counts, **where)
        assert all(team.comm.allgather(out.hold(list(zip(takes, values, strict=True))))), (packed, in_place, counts)


@pytest.mark.parametrize(("name", "op", "kind"), REDUCED_KINDS)
def test_reduce_scatterv(team, by, name, op, kind):
    """Sums in the order of the PEs have NumPy's bits, out of place and in place."""
    rng, n, me, dtype = shared(team, f"{name} {op} {kind}"), team.n_pes, team.me, DTYPES[name]
    counts = [KINDS[kind](rng, n - 1, j, n) for j in range(n)]
    rows = [elements_of(name, rng, sum(counts)) for _ in range(n)]
    own = random.Random(f"{SEED}/{me}/{name}/{kind}")
    low, wanted = sum(counts[:me]), in_order(rows, name, op)
    wanted = wanted[low : low + counts[me]]
    x, out = Room(team, own, dtype, sum(counts)), Room(team, own, dtype, counts[me])
    write(x.x, rows[me])
    (words,) = in_words(team, rng, counts)
    team.reduce_scatterv(x.x, out.x, words, op=op, **by)
    right = out.hold([(0, wanted)]) and x.hold([(0, rows[me])])
    team.reduce_scatterv(x.x, x.x[low : low + counts[me]], counts, op=op, **by)
    right = right and x.hold([(0, rows[me]), (low, wanted)])
    assert all(team.comm.allgather(bool(right))), counts


def test_all_to_allv_in_place(team, by):
    """PEs swap parts of the same length; counts on the host and on the device, packed or not."""
    rng, n, me = shared(team, "in place"), team.n_pes, team.me
    for packed in (True, False):
        counts = [[rng.choice((0, 1, 77, 200_000 // n)) for _ in range(n)] for _ in range(n)]
        counts = [[counts[min(i, j)][max(i, j)] for j in range(n)] for i in range(n)]
        takes = starts_of(counts[me], rng, packed)
        out = Room(team, rng, DTYPES["float32"], end_of(takes, counts[me]))
        parts = [np.arange(counts[me][pe], dtype=np.float32) + 1000 * me + pe for pe in range(n)]
        for pe in range(n):
            write(out.x[takes[pe] : takes[pe] + counts[me][pe]], parts[pe])
        words, where = in_words(team, random.Random(me), counts[me], takes)
        team.all_to_allv(MPI.IN_PLACE, out.x, None, words, None, None if packed else where, **by)
        wanted = [np.arange(counts[me][pe], dtype=np.float32) + 1000 * pe + me for pe in range(n)]
        assert all(team.comm.allgather(out.hold(list(zip(takes, wanted, strict=True))))), (packed, counts)


@pytest.mark.parametrize("sms", [None, 3])
def test_a_plan_is_replayed_with_other_counts(team, by, sms):
    """The counts are on the device.  out has room for the largest; sometimes all counts are 0, or a PE comes late."""
    rng, n, me, most = shared(team, "replay"), team.n_pes, team.me, 500
    x, out = (device(team, np.zeros(n * most, np.int32)) for _ in range(2))
    gathered, summed = device(team, np.zeros(n * most, np.int32)), device(team, np.zeros(most, np.int32))
    words = [device(team, np.zeros(n, np.int64)) for _ in range(3)]
    plans = [
        team.plan_all_to_allv(x, out, words[0], words[1], sms=sms, **by),
        team.plan_all_gatherv(x, gathered, words[2], sms=sms, **by),
        team.plan_reduce_scatterv(x, summed, words[2], sms=sms, **by),
    ]
    for step in range(12):
        counts = [[0 if step % 5 == 4 else rng.randrange(most + 1) for _ in range(n)] for _ in range(n)]
        numbers = [np.arange(n * most, dtype=np.int32) * (pe + 1) + step for pe in range(n)]
        write(x, numbers[me])
        taken = [one[me] for one in counts]
        for array, values in zip(words, (counts[me], taken, counts[0]), strict=True):
            write(array, np.array(values, np.int64))
        if (step + me) % 4 == 0:
            time.sleep(random.random() / 300)
        team.synchronize()  # the writes to the arrays are in the order of the current stream
        for plan in plans:
            plan(team.stream() if step % 2 else None)
        team.synchronize()
        parts = [numbers[pe][sum(counts[pe][:me]) :][: taken[pe]] for pe in range(n)]
        wanted = np.concatenate(parts), np.concatenate([numbers[pe][: counts[0][pe]] for pe in range(n)])
        total = np.sum(numbers, axis=0, dtype=np.int32)[sum(counts[0][:me]) :][: counts[0][me]]
        found = zip((out, gathered, summed), (*wanted, total), strict=True)
        assert all(team.comm.allgather([bool((to_numpy(a)[: len(b)] == b).all()) for a, b in found])), step
