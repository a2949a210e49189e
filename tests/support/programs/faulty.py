"""python faulty.py FAULT RANK: every PE calls allreduce in a loop, and before the sixth call PE RANK fails."""

import os
import signal
import sys
import threading
import time

import numpy as np
from mpi4py import MPI

import pennympi

TIMEOUT_S = float(os.environ["PENNYMPI_TIMEOUT_S"])


def fail_in_a_thread():
    thread = threading.Thread(target=lambda: 1 / 0)
    thread.start()
    thread.join()
    time.sleep(60)


def break_on_purpose():
    raise ValueError("broken on purpose")


FAULTS = {
    "raise": break_on_purpose,
    "thread": fail_in_a_thread,
    "exit0": lambda: sys.exit(0),
    "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "slow": lambda: time.sleep(0.8 * TIMEOUT_S),
    "none": lambda: None,
}

fault, rank = sys.argv[1], int(sys.argv[2])
calls = 1_000_000 if fault == "none" else 10
with pennympi.init() as team:
    x = team.zeros(100, "float32")
    for call in range(calls):
        if call == 5 and team.me == rank:
            os.write(1, f"fault {time.time()}\n".encode())
            FAULTS[fault]()
        x[:] = 1
        team.allreduce(x)
        team.synchronize()
        assert np.all(x == team.n_pes), x
MPI.COMM_WORLD.Barrier()
if MPI.COMM_WORLD.Get_rank() == 0:
    print("done")
