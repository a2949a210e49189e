"""Row 32: a random mix of everything for minutes, every result checked; what the process holds stays flat.

    mpirun -np 4 python tools/reliability/programs/soak.py --minutes 10 [--backend cuda]

Teams and sub-teams, arrays, plans, streams, puts and signals, every collective, residuals and own kernels follow from a
seed, the same on every PE.  After a third of the time the process is warm: from then on resident memory, the heap's free
bytes, descriptors, threads, prepared launches and names in /dev/shm may not grow.  Give PYTHONPATH tests/support.
"""

import gc
import os
import random
import threading
import time

import numpy as np
from collective_cases import CASES, TABLES, Call, right
from counting import Count, options
from mpi4py import MPI
from on_device import device, same, to_numpy
from reductions import expected, own

import pennympi
from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.collectives import base
from pennympi.kernels.allreduce import TABLE
from pennympi.kernels.block import lanes, load, put_signal, real, store, wait

OPS = ("sum", "prod", "min", "max", "avg")
COUNTS = (1, 7, 100, 1000, 4099, 20_000)
base.MOST_KINDS = 64  # so few that prepared launches are dropped all the time: their number would grow for an hour
RESIDENT_ROOM_KIB = 3072  # the allocator's own unrest, and a new message size now and then


def around(ctx, inbox, outbox, nbytes, word, value, successor, predecessor):
    """A message to the next PE."""
    put_signal(ctx, inbox, outbox, nbytes, word, value, successor)
    wait(ctx, word, value, predecessor)


def twice(ctx, x, n):
    """x (n,) *= 2."""
    for i in lanes(0, n):
        store(x, i, real(2) * load(x, i))


def heap_free_bytes(team):
    """Free bytes of the team's heap on the host backend; 0 on GPUs, where device memory is looked at."""
    heap = getattr(team._backend, "_heap", None)
    return getattr(getattr(heap, "_free", None), "free_bytes", 0) if team.backend == "host" else 0


def prepared(team):
    """Prepared launches of the team's collectives, where the library keeps them in dictionaries."""
    total, seen = 0, [team, *vars(team).values()]
    for one in seen:
        for name, value in getattr(one, "__dict__", {}).items():
            if "prepared" in name and hasattr(value, "__len__"):
                total += len(value)
    return total


def held(team):
    """What this process holds: {name: number}."""
    gc.collect()
    with open("/proc/self/statm") as file:
        resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
    found = {
        "resident KiB": resident, "descriptors": len(os.listdir("/proc/self/fd")), "threads": threading.active_count(),
        "free heap": heap_free_bytes(team), "prepared": prepared(team), "/dev/shm": len(os.listdir("/dev/shm")),
    }  # fmt: skip
    if team.backend == "cuda":
        import cupy

        cupy.get_default_memory_pool().free_all_blocks()
        free, total = cupy.cuda.runtime.memGetInfo()
        found["device MiB"] = (total - free) >> 20
    return found


class Soak:
    """The steps; each is collective over ``team`` and leaves nothing behind."""

    def __init__(self, team, count, seed):
        self.team, self.count, self.shared = team, count, random.Random(seed)
        self.late = random.Random(1000 * seed + team.me)
        self.twice, self.around = team.kernel(twice, "float32"), team.kernel(around, "float32")
        self.streams = [team.stream(), team.stream("high")]

    def allreduces(self, team=None):
        """Some AllReduces, eager or planned, in place or not, on some stream, with a residual now and then."""
        team, shared = team or self.team, self.shared
        name, op, size = shared.choice(list(DTYPES)), shared.choice(OPS), shared.choice(COUNTS)
        rows = [row for row, one in TABLE.items() if not one.refuse(team.place, name, op)]
        row, symmetric, planned = shared.choice([*rows, "auto"]), shared.random() < 0.5, shared.random() < 0.4
        given = own(name, op, team.n_pes, team.me, size)
        make = team.array if symmetric else lambda values: device(team, values)
        x, out = make(given), make(np.zeros_like(given))
        stream = shared.choice([None, *self.streams])
        team.synchronize()
        if planned:
            plan = team.plan_allreduce(x, out, op, row)
            for _ in range(shared.randrange(1, 4)):
                plan(stream)
        else:
            team.allreduce(x, out, op, row, stream=stream)
        team.synchronize(stream)
        self.count.right(same(out, expected(name, op, team.n_pes, size)), f"allreduce {row} {name} {op} {size}")
        if symmetric:
            team.comm.Barrier()
            team.free(out)
            team.free(x)

    def residuals(self):
        team, size = self.team, self.shared.choice(COUNTS)
        x, residual = device(team, np.full(size, team.me, np.float32)), device(team, np.full(size, 7, np.float32))
        out = device(team, np.zeros(size, np.float32))
        team.allreduce(x, out, residual=residual)
        team.synchronize()
        self.count.right(same(out, np.full(size, sum(range(team.n_pes)) + 7, np.float32)), "residual")

    def collectives(self):
        team, shared = self.team, self.shared
        name = shared.choice(list(CASES))
        dtype, op = shared.choice(list(DTYPES)), shared.choice(OPS)
        rows = [row for row, one in TABLES[name].items() if not one.refuse(team.place, dtype, op)]
        row, size = shared.choice([*rows, "auto"]), shared.choice(COUNTS)
        call = Call(dtype, op, team.n_pes, team.me, shared.randrange(team.n_pes), size)
        x, out = CASES[name].fresh(lambda values: device(team, values), call)
        before = to_numpy(out)
        CASES[name].run(team, call, x, out, algorithm=row)
        team.synchronize()
        self.count.right(right(CASES[name], call, out, before), f"{name} {row} {call}")

    def puts(self):
        """Rows to both neighbours by put and signal, and back by get."""
        team, size, me, n = self.team, self.shared.choice(COUNTS), self.team.me, self.team.n_pes
        ahead, behind = (me + 1) % n, (me - 1) % n
        inbox, words = team.zeros(size, "int64"), team.signals(1)
        row = device(team, np.full(size, me, np.int64))
        for turn in range(1, 4):
            team.put_signal(inbox, row, words, turn, ahead)
            team.wait_signal(words, turn, source=behind)
            team.synchronize()
            self.count.right(same(inbox, np.full(size, behind)), "put and signal")
            team.barrier()
        team.get(row, inbox, ahead)
        team.synchronize()
        self.count.right(same(row, np.full(size, me)), "get")
        team.barrier()
        team.synchronize()
        team.free(inbox)
        team.free(words)

    def exchanges(self):
        team, size = self.team, self.shared.choice(COUNTS)
        pe = team.me ^ 1 if team.me ^ 1 < team.n_pes else team.me
        mine, theirs = device(team, np.full(size, team.me, np.float32)), device(team, np.zeros(size, np.float32))
        team.exchange(theirs, mine, pe, self.shared.choice(("put_signal", "put_fence_signal", "put_barrier")))
        team.synchronize()
        self.count.right(same(theirs, np.full(size, pe, np.float32)), "exchange")

    def kernels(self):
        team, me, n = self.team, self.team.me, self.team.n_pes
        inbox, outbox, words = team.zeros(100, "float32"), team.full(100, me, "float32"), team.signals(1)
        self.twice(1, outbox, 100)
        self.around(1, inbox, outbox, 400, words, 1, (me + 1) % n, (me - 1) % n)
        team.synchronize()
        self.count.right(same(inbox, np.full(100, 2 * ((me - 1) % n), np.float32)), "own kernels")
        team.comm.Barrier()
        for one in (words, outbox, inbox):
            team.free(one)

    def teams(self):
        """A sub-team in another order, which does some of it too."""
        part = self.team.comm.Split(self.team.me % self.shared.choice((1, 2)), -self.team.me)
        with pennympi.init(part, heap_bytes=48 << 20) as team:
            self.allreduces(team)
            self.count.right(team.gather(team.me) == list(range(team.n_pes)), "gather of a sub-team")
        part.Free()

    def step(self):
        """One step, on PEs that come late now and then."""
        if self.late.random() < 0.02:
            time.sleep(self.late.random() / 200)
        kinds = (self.allreduces, self.collectives, self.puts, self.residuals, self.exchanges, self.kernels, self.teams)
        self.shared.choices(kinds, (8, 8, 3, 3, 3, 3, 1))[0]()


def main():
    parser = options(__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--backend", choices=("auto", "host", "cuda"), default="auto")
    given = parser.parse_args()
    count, notes = Count(MPI.COMM_WORLD), []
    with pennympi.init(backend=given.backend, heap_bytes=400 << 20) as team:
        soak, begin, end, said = Soak(team, count, given.seed), time.monotonic(), False, 0.0
        every_s = min(30.0, given.minutes * 60 / 20)
        while not end:
            for _ in range(20):
                soak.step()
            passed = team.comm.bcast(time.monotonic() - begin)
            end = passed > 60 * given.minutes
            if passed - said >= every_s or end:
                said = passed
                notes.append(held(team))
                if team.me == 0:
                    words = ", ".join(f"{name} {number}" for name, number in notes[-1].items())
                    print(f"{passed:6.0f} s, {count.done} checks, {count.wrong} wrong: {words}", flush=True)
        warm = notes[len(notes) // 3 :]
        for name in warm[0]:
            values = [note[name] for note in warm]
            # the median of the last third beside that of the first: one large sample is no slope
            third = max(1, len(values) // 3)
            growth = float(np.median(values[-third:]) - np.median(values[:third]))
            lost = -growth if name == "free heap" else growth
            room = {"resident KiB": RESIDENT_ROOM_KIB, "device MiB": 2, "free heap": 1 << 20, "prepared": 64}.get(name, 0)
            count.right(lost <= room, f"{name} grew: {values[0]} ... {values[-1]}")
    count.tell(minutes=given.minutes)


main()
