"""Row 6: one AllReduce of random floats, again and again, eager and planned, with late PEs: always the same bits."""

import hashlib
import random
import time

import numpy as np
from counting import Count, options
from on_device import to_numpy

import pennympi
from pennympi.kernels.allreduce import TABLE

given = options(__doc__).parse_args()
with pennympi.init() as team:
    count, late = Count(team.comm), random.Random(1000 * given.seed + team.me)
    rng = np.random.default_rng([given.seed, team.me])
    for name in ("float32", "float16", "float64"):
        for row in [row for row, one in TABLE.items() if not one.refuse(team.place, name, "sum")]:
            x = team.array((rng.standard_normal(5000) * 10.0 ** rng.integers(-3, 3, 5000)).astype(name))
            out, plan, digests = team.zeros(5000, name), None, set()
            plan = team.plan_allreduce(x, out, algorithm=row)
            for turn in range(max(4, given.times // 30)):
                if late.random() < 0.1:
                    time.sleep(late.random() * 0.005)
                plan() if turn % 2 else team.allreduce(x, out, algorithm=row)
                team.synchronize()
                digests.add(hashlib.sha256(to_numpy(out).tobytes()).hexdigest())
                count.right(len(digests) == 1, f"{row} {name}, turn {turn}: other bits than before")
            told = team.gather(sorted(digests))
            count.right(all(one == told[0] for one in told), f"{row} {name}: the PEs hold different bits")
            for one in (x, out):
                team.free(one)
    count.tell()
