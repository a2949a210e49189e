"""Row 8: rows stamped with their number, put with a signal to both neighbours: none stale, none torn, with late PEs."""

import random
import time

import numpy as np
from counting import Count, options
from on_device import device, to_numpy

import pennympi

given = options(__doc__).parse_args()
with pennympi.init() as team:
    count, late = Count(team.comm), random.Random(1000 * given.seed + team.me)
    right, left = (team.me + 1) % team.n_pes, (team.me - 1) % team.n_pes
    columns = 257
    halo, words = team.zeros((2, 2, columns), "int64"), team.signals(4)  # [side][parity]
    rows = [device(team, np.full(columns, 0, "int64")) for _ in range(2)]
    for number in range(1, given.times + 1):
        parity, row = number % 2, rows[number % 2]
        row[:] = number * 1000 + team.me
        if late.random() < 0.001:
            time.sleep(late.random() / 200)
        for side, pe in ((0, right), (1, left)):
            at = 2 * side + parity
            team.put_signal(halo[side, parity], row, words[at : at + 1], number, pe)
        for side, pe in ((0, left), (1, right)):
            at = 2 * side + parity
            team.wait_signal(words[at : at + 1], number, source=pe)
        team.synchronize()
        if team.backend == "host" or number % 50 == 0:
            found = to_numpy(halo[:, parity])
            ok = (found[0] == number * 1000 + left).all() and (found[1] == number * 1000 + right).all()
            count.right(ok, "" if ok else f"exchange {number}: {np.unique(found)[:4]}")
    team.barrier()
    team.synchronize()
    count.tell()
