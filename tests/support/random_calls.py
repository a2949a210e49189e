"""Random AllReduces without a wait between them, checked at the end."""

import random
import time

import numpy as np
from on_device import device, to_numpy

from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.kernels.allreduce import TABLE

NAMES = ("int32", "float64", "float16", "uint8")
REDUCE = {"sum": np.add, "min": np.minimum, "max": np.maximum}
SLOW = 10  # one call in ten comes late on a PE


class Calls:
    """AllReduces of random size, dtype, op and algorithm, each on memory of its own; checked at the end."""

    def __init__(self, team, calls, seed):
        shared = random.Random(seed)
        self.team, self.next = team, 0
        self.late = random.Random(1000 * seed + team.me)
        self.ends, self.list = dict.fromkeys(NAMES, 0), []
        for _ in range(calls):
            name, count = shared.choice(NAMES), int(10 ** shared.uniform(0, 3.7)) - 1
            start = self.ends[name] + shared.randrange(3)  # any alignment
            self.ends[name] = start + count
            op, algorithm = shared.choice(list(REDUCE)), shared.choice([*TABLE, "auto"])
            if algorithm in TABLE and TABLE[algorithm].refuse(team.place, name, op):
                algorithm = "auto"
            self.list.append((name, start, start + count, op, algorithm))
        rng = np.random.default_rng(seed)
        self.given = {
            name: rng.integers(0, 8, (team.n_pes, self.ends[name])).astype(DTYPES[name].numpy) for name in NAMES
        }
        self.x = {name: device(team, self.given[name][team.me]) for name in NAMES}
        self.out = {name: device(team, np.zeros_like(self.given[name][0])) for name in NAMES}
        team.synchronize()

    def one(self, stream=None):
        """The next call."""
        name, start, stop, op, algorithm = self.list[self.next]
        self.next += 1
        if self.late.randrange(SLOW) == 0:
            time.sleep(self.late.random() / 1000)
        self.team.allreduce(self.x[name][start:stop], self.out[name][start:stop], op, algorithm, stream=stream)

    def check(self):
        """Compare every result."""
        self.team.synchronize()
        out = {name: to_numpy(self.out[name]) for name in NAMES}
        for number, (name, start, stop, op, algorithm) in enumerate(self.list[: self.next]):
            wide = self.given[name][:, start:stop].astype(np.float64)
            expected = REDUCE[op].reduce(wide, axis=0).astype(DTYPES[name].numpy)
            assert out[name][start:stop].tobytes() == expected.tobytes(), (number, name, stop - start, op, algorithm)
