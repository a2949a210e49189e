"""Random calls of the collectives without a wait between them, checked at the end."""

import random
import time

import numpy as np
from collective_cases import ALGORITHMS, CASES, Call, runs_here
from on_device import device, to_numpy
from reductions import PERIOD, op_of

from pennympi.arrays.dtypes import TABLE as DTYPES

LATE = 20  # a PE makes one of so many calls late
EMPTY = 0xA5  # value of every byte that no call writes


def size(shared, n):
    """Elements of a part: none, a few, some, and sometimes many."""
    kind = shared.random()
    if kind < 0.1:
        return shared.randrange(17)
    return int(10 ** (shared.uniform(0, 3.5) if kind < 0.9 else shared.uniform(3.5, 4.6))) // (n if kind > 0.5 else 1)


class Calls:
    """Calls that are drawn from ``shared``, each with its own memory, and the content of the memory before and after."""

    def __init__(self, team, shared, number):
        self.team, self.list, self.next = team, [], 0
        self.late = random.Random(1000 * shared.randrange(1 << 20) + team.me)
        ends = dict.fromkeys("sp", 16)
        for _ in range(number):
            self._draw(shared, ends)
        self.images = {key: np.full((2, end + 16), EMPTY, np.uint8) for key, end in ends.items()}
        for call, case, _, x, out in self.list:
            self._fill(case, call, x, out)
        before = {key: image[0] for key, image in self.images.items()}
        self.memory = {"s": team.array(before["s"]), "p": device(team, before["p"])}
        team.synchronize()

    def _draw(self, shared, ends):
        n = self.team.n_pes
        collective, algorithm = shared.choice(ALGORITHMS)
        case, name = CASES[collective], shared.choice([*DTYPES])
        op = op_of(name, n)
        call = Call(name, op, n, self.team.me, shared.randrange(n), size(shared, n), shared.randrange(PERIOD))
        if shared.random() < 0.2 or not runs_here(self.team, collective, algorithm, name, op):
            algorithm = "auto"
        in_place = case.one_array or (case.rows(n) in ((1, 1), (n, n)) and shared.random() < 0.3)
        places = []
        for parts in case.rows(n)[: 1 if in_place else 2]:
            key, shift = shared.choice("sp"), shared.randrange(4) * DTYPES[name].item_bytes
            at = -(-ends[key] // 16) * 16 + 16 + shift
            ends[key] = at + parts * call.count * DTYPES[name].item_bytes
            places.append((key, slice(at, ends[key])))
        self.list.append((call, case, algorithm, places[0], places[-1]))

    def _fill(self, case, call, x, out):
        """Write a call's bytes into the images."""
        source, result = case.x(call), case.out(call)
        self.images[x[0]][:, x[1]] = source.view(np.uint8)
        if result is not None:
            self.images[out[0]][1, out[1]] = result.view(np.uint8)

    def run_next(self, streams=(None,)):
        """Make the next call, on one of these streams."""
        call, case, algorithm, *places = self.list[self.next]
        self.next += 1
        if self.late.randrange(LATE) == 0:
            time.sleep(self.late.random() / 1000)
        x, out = (self.memory[key][where].view(DTYPES[call.name].numpy) for key, where in places)
        x = out if places[0] == places[1] else x
        case.run(self.team, call, x, out, algorithm=algorithm, stream=self.late.choice(streams))

    def check(self):
        """Compare every byte with the expected one."""
        self.team.synchronize()
        for key, (_, wanted) in self.images.items():
            wrong = np.flatnonzero(to_numpy(self.memory[key]) != wanted)
            blamed = [
                f"call {number}: {case.name} {algorithm} {call}"
                for number, (call, case, algorithm, *places) in enumerate(self.list)
                if any(k == key and np.any((at.start <= wrong) & (wrong < at.stop)) for k, at in places)
            ]
            assert not wrong.size, f"memory {key}: {'; '.join(blamed[:3]) or 'between the arrays'}, bytes {wrong[:3]}"
        self.team.comm.Barrier()  # no PE frees memory that another PE still checks
        self.team.free(self.memory["s"])
