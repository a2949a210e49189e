"""Row 28: performance guidelines that a library must keep with itself, each by a sign test over bursts by turns.

allreduce <= reduce + broadcast, allreduce <= reduce_scatter + all_gather, a smaller call is no slower than one of 4
times the size, and "auto" is within 10 % of the best algorithm by name."""

import math
import time

import numpy as np
from counting import Count, options

import pennympi
from pennympi.kernels.allreduce import TABLE

given = options(__doc__).parse_args()
BURST = 10


def burst_us(team, call, calls):
    """Time of a call in one burst, on the slowest PE."""
    team.comm.Barrier()
    begin = time.perf_counter()
    for _ in range(calls):
        call()
    team.synchronize()
    return max(team.comm.allgather((time.perf_counter() - begin) / calls * 1e6))


def slower(ours, theirs, room):
    """Whether ours > room * theirs in so many pairs that chance gives it in 1 of 1,000 tries only."""
    worse, n = int(np.sum(np.array(ours) > room * np.array(theirs))), len(ours)
    p = sum(math.comb(n, k) for k in range(worse, n + 1)) / 2**n
    return p < 0.001


with pennympi.init() as team:
    count, n = Count(team.comm), team.n_pes
    sizes = [2 << (2 * k) for k in range(1, 9 if team.backend == "host" else 12)]  # elements
    by_size, seen = {}, {}
    for size in sizes:
        x, out = team.full(size, 1, "float32"), team.zeros(size, "float32")
        part, whole = team.zeros(-(-size // n), "float32"), team.zeros(-(-size // n) * n, "float32")
        calls = {"allreduce": lambda x=x, out=out: team.allreduce(x, out)}

        def reduce_broadcast(x=x, out=out):
            team.reduce(x, out, root=0)
            team.broadcast(out, root=0)

        def scatter_gather(part=part, whole=whole):
            team.reduce_scatter(whole, part)
            team.all_gather(part, whole)

        calls |= {"reduce + broadcast": reduce_broadcast, "reduce_scatter + all_gather": scatter_gather}
        for row, one in TABLE.items():
            if not one.refuse(team.place, "float32", "sum"):
                calls[row] = lambda x=x, out=out, row=row: team.allreduce(x, out, algorithm=row)
        for call in calls.values():
            call()
        calls_of_a_burst = BURST if size < 1 << 16 else 3
        times = {name: [] for name in calls}
        for _ in range(max(8, given.times)):
            for name, call in calls.items():
                times[name].append(burst_us(team, call, calls_of_a_burst))
        ours = times["allreduce"]
        for name in ("reduce + broadcast", "reduce_scatter + all_gather"):
            ok = not slower(ours, times[name], 1.05)
            count.right(ok, f"{4 * size} B: allreduce {np.median(ours):.1f} us, {name} {np.median(times[name]):.1f} us")
        rows = [name for name in calls if name in TABLE]
        best = min(rows, key=lambda name: np.median(times[name]))
        ok = not slower(ours, times[best], 1.1)
        count.right(ok, f"{4 * size} B: auto {np.median(ours):.1f} us, {best} {np.median(times[best]):.1f} us")
        by_size[size] = ours
        for one in (x, out, part, whole):
            team.free(one)
    for small, large in zip(sizes, sizes[1:], strict=False):
        ok = not slower(by_size[small], by_size[large], 1.1)
        count.right(ok, f"{4 * small} B takes longer than {4 * large} B")
    count.tell()
