"""python skewed.py HOW: PE 1 is not there when the others want to meet it, for twice the deadline or most of it.

HOW: "busy" (it makes calls on a team of its own), "asleep" (it makes none), or "late" (for less than the deadline).
"""

import os
import sys
import time

import numpy as np
from mpi4py import MPI

import pennympi

TIMEOUT_S = float(os.environ["PENNYMPI_TIMEOUT_S"])
world, how = MPI.COMM_WORLD, sys.argv[1]


def away(part):
    """Two deadlines long, or most of one, a call every tenth."""
    end = time.monotonic() + (0.7 if how == "late" else 2) * TIMEOUT_S
    while time.monotonic() < end:
        time.sleep(TIMEOUT_S / 10)
        if how == "busy":
            part.barrier()


with pennympi.init(world) as team, pennympi.init(MPI.COMM_SELF) as part:
    x = team.zeros(100, "float32")
    for name in ("ring", "gather"):  # waits of kernels, most for a PE that waits itself; and the library's meetings
        part.barrier()
        team.allreduce(x, algorithm="ring")  # compiled, and all are here
        x[:] = 1
        if team.me == 1:
            os.write(1, f"fault {time.time()}\n".encode())
            away(part)
        if name == "ring":
            team.allreduce(x, algorithm="ring")
            assert np.all(x == team.n_pes), x
        else:
            assert team.gather(team.me) == list(range(team.n_pes))
MPI.COMM_WORLD.Barrier()
if world.Get_rank() == 0:
    print("done")
