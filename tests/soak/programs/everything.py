"""everything.py SECONDS SEED: a random mix of all calls, the same on every PE; every result is compared.

From a third of the time on, the program notes the resources of the process, which must not grow.
"""

import gc
import os
import random
import sys
import threading
import time

import numpy as np
from collective_cases import CASES, Call, is_right
from halo_reference import own_part, with_halos
from on_device import device, same, to_numpy, write
from random_calls import Calls
from reductions import OPS

import pennympi
from pennympi.arrays.dtypes import TABLE as DTYPES

COUNTS = (1, 7, 100, 1000, 4099, 20_000)
HEAP_BYTES = 400 << 20
MOST_BYTES = HEAP_BYTES // 2  # of one array: the heap has room for it before and after
LONG_S = 180.0  # a third of it suffices to load all kernels
MORE = {"KiB": 4096}  # by how much a resource may have grown in the end


def held():
    """Resources of this process: {name: number}."""
    gc.collect()
    with open("/proc/self/statm") as file:
        resident_kib = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
    return {"KiB": resident_kib, "descriptors": len(os.listdir("/proc/self/fd")), "threads": threading.active_count()}


class Everything:
    """The steps.  Each step is collective over the team, and leaves nothing in the heap."""

    def __init__(self, team, seed):
        self.team, self.shared, self.late = team, random.Random(seed), random.Random(1000 * seed + team.me)
        self.ahead, self.before = (team.me + 1) % team.n_pes, (team.me - 1) % team.n_pes
        self.streams = [None, team.stream(), team.stream("high")]
        self.compared = 0

    def check(self, ok, what):
        self.compared += 1
        assert ok, f"PE {self.team.me}: {what}"

    def free(self, *arrays):
        """Free arrays after all PEs have read them."""
        self.team.synchronize()
        self.team.comm.Barrier()
        for array in arrays:
            self.team.free(array)

    def collectives(self, team=None, number=20):
        """Collectives by every algorithm, in place or not, on symmetric and plain memory, on any stream, without a
        wait."""
        shared = random.Random(self.shared.random())
        calls = Calls(team or self.team, shared, number)
        for _ in calls.list:
            calls.run_next(self.streams if team is None else (None,))
        calls.check()
        self.compared += number

    def plan(self):
        """A plan, called several times."""
        team, shared = self.team, self.shared
        name, dtype, op = shared.choice(list(CASES)), shared.choice(list(DTYPES)), shared.choice(OPS)
        call = Call(dtype, op, team.n_pes, team.me, shared.randrange(team.n_pes), shared.choice(COUNTS))
        x, out = CASES[name].fresh(lambda values: device(team, values), call)
        before, plan, stream = to_numpy(out), CASES[name].plan(team, call, x, out), shared.choice(self.streams)
        team.synchronize()
        for _ in range(shared.randrange(1, 4)):
            plan(stream)
            team.synchronize(stream)
            self.check(is_right(CASES[name], call, out, before), f"plan of {name} {call}")
            write(x, CASES[name].x(call))
            team.synchronize()

    def by_counts(self):
        """Every PE sends its number to each PE, as often as a shared table says."""
        team, n, me = self.team, self.team.n_pes, self.team.me
        counts = np.array([[self.shared.randrange(400) for _ in range(n)] for _ in range(n)])
        x = device(team, np.full(counts[me].sum(), me, np.int32))
        out = device(team, np.zeros(counts[:, me].sum(), np.int32))
        team.all_to_allv(x, out, counts[me], counts[:, me].tolist())
        team.synchronize()
        self.check(same(out, np.repeat(np.arange(n), counts[:, me]).astype(np.int32)), "all_to_allv")

    def one_sided(self):
        """A row to the next PE by put and signal, several times, and back by get."""
        team, size = self.team, self.shared.choice(COUNTS)
        inbox, words, row = team.zeros(size, "int64"), team.signals(1), device(team, np.full(size, team.me, np.int64))
        stream = self.shared.choice(self.streams)
        team.synchronize()
        for turn in range(1, 4):
            team.put_signal(inbox, row, words, turn, self.ahead, stream=stream)
            team.wait_signal(words, turn, source=self.before, stream=stream)
            team.synchronize(stream)
            self.check(same(inbox, np.full(size, self.before)), f"put_signal {size}")
            team.barrier()
        team.get(row, inbox, self.ahead)
        team.synchronize()
        self.check(same(row, np.full(size, team.me)), f"get {size}")
        self.free(inbox, words)

    def exchange(self):
        team, size = self.team, self.shared.choice(COUNTS)
        pe = team.me ^ 1 if team.me ^ 1 < team.n_pes else team.me
        mine, theirs = (device(team, np.full(size, value, np.float32)) for value in (team.me, -1))
        team.exchange(theirs, mine, pe, self.shared.choice(("packets", "put_signal", "put_fence_signal", "put_barrier")))
        team.synchronize()
        self.check(same(theirs, np.full(size, pe, np.float32)), f"exchange {size}")

    def halos(self):
        """Halos of a grid of any shape, in several rounds."""
        team, shared = self.team, self.shared
        halo, dtype = shared.randrange(1, 3), shared.choice(("float64", "int32", "float16"))
        shape = tuple(team.n_pes * halo + shared.randrange(20) for _ in range(shared.randrange(1, 4)))
        corners, grid = shared.random() < 0.5, team.grid(shape, periodic=shared.random() < 0.5, halo=halo)
        u, (whole, inner) = grid.full(77, dtype), own_part(grid._parts, team.me)
        plan = grid.plan_exchange(u, corners=corners)
        for turn in range(3):
            points = np.random.default_rng([self.compared, turn]).integers(0, 50, shape).astype(dtype)
            mine = to_numpy(u)
            mine[inner] = points[whole]
            write(u, mine)
            plan()
            team.synchronize()
            self.check(same(u, with_halos(grid._parts, team.me, points, corners, 77)), f"halos {grid} {dtype}")
        del plan
        self.free(u)

    def part(self):
        """A team of some PEs, in another order."""
        comm = self.team.comm.Split(self.team.me % self.shared.choice((1, 2)), -self.team.me)
        with pennympi.init(comm, heap_bytes=48 << 20) as team:
            self.collectives(team, 5)
            self.check(team.gather(team.me) == list(range(team.n_pes)), "gather of a part")
        comm.Free()

    def step(self):
        """One step; now and then a PE comes late."""
        if self.late.random() < 0.02:
            time.sleep(self.late.random() / 200)
        often = {self.collectives: 3, self.plan: 3, self.by_counts: 3, self.one_sided: 3}
        often |= {self.exchange: 3, self.halos: 3, self.part: 1}
        self.shared.choices(list(often), often.values())[0]()


def main():
    seconds, notes = float(sys.argv[1]), []
    with pennympi.init(heap_bytes=HEAP_BYTES) as team:
        everything, begin, passed = Everything(team, int(sys.argv[2])), time.monotonic(), 0.0
        while passed < seconds:
            for _ in range(10):
                everything.step()
            passed = team.comm.bcast(time.monotonic() - begin)
            if passed > seconds / 3:
                notes.append(held())
        everything.free(team.empty(MOST_BYTES, "uint8"))  # the heap is whole
        for name in notes[0] if seconds >= LONG_S else ():
            third = max(1, len(notes) // 3)  # a third has a median, in which one large sample does not count
            first, last = (float(np.median([note[name] for note in part])) for part in (notes[:third], notes[-third:]))
            everything.check(last - first <= MORE.get(name, 0), f"{name} grew from {first:g} to {last:g}")
        compared = sum(team.gather(everything.compared))
        if team.me == 0:
            print(f"{compared} compared", flush=True)


main()
