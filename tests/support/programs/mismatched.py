"""``mismatched.py <what differs>``: all PEs make a call, and the last PE a different one.  Prints "done" if none notices.

``mismatched.py nothing``: all PEs make each of these calls alike, which compiles the kernels that the others need.
"""

import os
import sys
import time

import numpy as np

import pennympi


def calls(team, odd, x, out):
    """{what differs: the call of this PE}."""

    def places(far):
        return [-(1 << 61) if far and pe else 5 * pe for pe in range(team.n_pes)]

    sent = [5] * team.n_pes
    received = [5 + odd] + sent[1:]

    return {
        "count": lambda: team.allreduce(x[:-8] if odd else x, algorithm="ring"),
        "exchange": lambda: team.exchange(out[: 10 + odd], x[: 10 + odd], team.n_pes - 1 - team.me),
        "set_up": lambda: team.reduce(x, algorithm="direct") if odd else team.allreduce(x, algorithm="ring"),
        "another_count": lambda: team.all_to_allv(x, out, sent, received),
        "no_such_place": lambda: team.all_to_allv(x, out, *map(np.array, (sent, sent, places(False), places(odd)))),
        "algorithm": lambda: team.allreduce(x, algorithm="one_shot" if odd else "ring"),
    }


with pennympi.init() as team:
    x, out, what = np.ones(240, np.float32), np.ones(240, np.float32), sys.argv[1]
    if what == "nothing":
        for call in calls(team, False, x, out).values():
            call()
        team.reduce(x, algorithm="direct")
    else:
        for algorithm in ("ring", "one_shot"):  # so that nothing is set up later
            team.allreduce(x, algorithm=algorithm)
        os.write(1, f"fault {time.time()}\n".encode())
        calls(team, team.me == team.n_pes - 1, x, out)[what]()
print("done")
