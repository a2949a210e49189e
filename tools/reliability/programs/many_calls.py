"""Row 7: 8-byte AllReduces and barriers back to back; each result is the next call's input, modulo a prime."""

import time

import numpy as np
from counting import Count, options

import pennympi

given = options(__doc__).parse_args()
BURST = 50
with pennympi.init() as team:
    count, n = Count(team.comm), team.n_pes
    x, out, times_us = team.full(1, team.me + 1, "int64"), team.zeros(1, "int64"), []
    plan = team.plan_allreduce(x, out)
    for turn in range(given.times // BURST):
        begin = time.perf_counter()
        for _ in range(BURST // 2):
            team.allreduce(x, out)
            plan()
        team.synchronize()
        times_us.append((time.perf_counter() - begin) / BURST * 1e6)
        count.right(int(out[0]) == n * (turn % 1000) + n * (n + 1) // 2, f"after {turn} bursts: {out[0]}")
        x[0] = team.me + 1 + (turn + 1) % 1000
    count.done *= BURST
    for _ in range(given.times // 10):
        team.barrier()
    team.synchronize()
    median, tail = np.median(times_us), np.percentile(times_us, 99.9)
    count.tell(median_us=float(median), p999_us=float(tail))
