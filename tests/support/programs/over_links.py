"""over_links.py SECONDS: AllReduces of 4 B to 1 MB for a while, each checked; "ready" when everything is compiled.

All waits are those of the library, which have a deadline: a wait of MPI would never end on a link that is down.
"""

import sys
import time

import pennympi

SIZES = (1, 1_000, 250_000)

with pennympi.init(heap_bytes=32 << 20) as team:
    arrays = [(team.full(size, team.me + 1, "float32"), team.empty(size, "float32")) for size in SIZES]
    want, done, wrong = team.n_pes * (team.n_pes + 1) / 2, 0, 0
    begin_s, passed_s = float("inf"), team.zeros(1)
    while passed_s[0] < float(sys.argv[1]):
        for x, y in arrays:
            y[:] = 0
            team.allreduce(x, y)
            team.synchronize()
            wrong += int((y != want).sum())
            done += 1
        passed_s[0] = time.monotonic() - begin_s
        team.allreduce(passed_s, op="max")
        team.synchronize()
        if begin_s == float("inf"):
            begin_s = time.monotonic()
            if team.me == 0:
                print("ready", flush=True)
    wrong = sum(team.gather(wrong))
    if team.me == 0:
        print(f"{done} AllReduces, {wrong} elements wrong")
        print("done")
