"""python struck.py WHERE FAULT RANK: all PEs do the same thing again and again until PE RANK is struck, at any moment.

WHERE: collective, plan, exchange, put, empty, init, between (init, with no other team open), gather, mpi (calls of MPI),
computing, or waiting (in a kernel, for PE RANK, which sleeps).  FAULT: the name of a signal, or
_exit3, exit0, exit3, raise, thread (which raises), none.
"""

import os
import random
import signal
import sys
import threading
import time

import numpy as np
from mpi4py import MPI

import pennympi

where, fault, rank = sys.argv[1], sys.argv[2], int(sys.argv[3])
world = MPI.COMM_WORLD


def strike():
    time.sleep(0.3 + 0.2 * random.random())
    os.write(1, f"fault {time.time()}\n".encode())
    if fault == "_exit3":
        os._exit(3)
    if fault != "none":
        os.kill(os.getpid(), getattr(signal, fault))


def leave():
    """On the main thread, in the middle of a wait of the others."""
    time.sleep(0.5)
    os.write(1, f"fault {time.time()}\n".encode())
    if fault == "raise":
        raise ValueError("broken on purpose")
    if fault == "thread":
        threading.Thread(target=lambda: 1 / 0).start()
        time.sleep(60)
    sys.exit(int(fault[4:]))


def make_and_free():
    team.free(team.empty(1000, "float32"))


def start_and_end():
    with pennympi.init(world):
        pass


def compute():
    np.sort(np.random.default_rng(0).random(20000))


def wait():
    team.wait_signal(words[:1], 1, source=rank if team.me != rank else None)


def put():
    for pe in range(team.n_pes):
        team.put(y, x, pe)
    team.barrier()


DOING = {
    "collective": lambda: team.allreduce(x),
    "plan": lambda: plan(),
    "exchange": lambda: team.exchange(y, x, team.me ^ 1),
    "put": put,
    "empty": make_and_free,
    "init": start_and_end,
    "between": start_and_end,
    "gather": lambda: team.gather(team.me),
    "mpi": world.Barrier,
    "computing": compute,
    "waiting": wait,
}

team = pennympi.init(world)
x, y, words = team.zeros(100, "float32"), team.zeros(100, "float32"), team.signals(1)
team.allreduce(x)
plan = team.plan_allreduce(x)
words[:] = 5
wait()  # compiles
words[:] = 0
team.gather(0)
if where == "between":
    team.finalize()
if team.me == rank:
    if fault.startswith(("exit", "raise", "thread")):
        leave()
    threading.Thread(target=strike, daemon=True).start()
    while where == "waiting" and fault != "SIGINT":
        time.sleep(1)
while True:
    DOING[where]()
