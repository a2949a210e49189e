"""python suspended.py WHERE: the whole job is stopped for two deadlines, while the others wait for PE 0, and goes on.

WHERE: kernel, gather or mpi: what they wait in.
"""

import os
import subprocess
import sys
import time

from mpi4py import MPI

import pennympi

TIMEOUT_S = float(os.environ["PENNYMPI_TIMEOUT_S"])
world, where = MPI.COMM_WORLD, sys.argv[1]
with pennympi.init(world) as team:
    words = team.signals(1)
    pids = " ".join(map(str, team.gather(os.getpid())))
    if team.me == 0:
        script = f"sleep 0.3; kill -STOP {pids}; sleep {2 * TIMEOUT_S}; kill -CONT {pids}"
        subprocess.Popen(["sh", "-c", script], start_new_session=True)
        time.sleep(1)  # is over when the job goes on
        time.sleep(TIMEOUT_S / 2)
    if where == "kernel" and team.me == 0:
        for pe in range(1, team.n_pes):
            team.put_signal(words, words, words, 1, pe)
    elif where == "kernel":
        team.wait_signal(words, 1, source=0)
    elif where == "gather":
        team.gather(0)
    else:
        world.Barrier()
if world.Get_rank() == 0:
    print("done")
