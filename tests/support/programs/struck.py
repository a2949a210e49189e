"""python struck.py WHERE FAULT RANK: all PEs repeat the same thing until PE RANK is struck, at any moment.

WHERE: collective, collectives (each in turn), plan, exchange, put, solve (sweeps of a grid), empty, init, between (init,
with no other team open), gather, mpi (calls of MPI), computing, or waiting (in a kernel, for PE RANK, which sleeps).
FAULT: the name of a signal, or _exit3, exit0, exit3, raise, thread (a thread raises), none.
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
    """Leave on the main thread, while the others wait."""
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


def every_collective():
    n = team.n_pes
    team.all_gather(x, long)
    team.reduce_scatter(long, x)
    team.broadcast(x, root=0)
    team.reduce(x, root=n - 1)
    team.all_to_all(long)
    team.all_gatherv(x, long, [100] * n)
    team.reduce_scatterv(long, x, [100] * n)
    team.all_to_allv(long, long_out, [100] * n, [100] * n)


def made_sweep():
    grid = team.grid((64, 64), periodic=True)
    u, v = grid.zeros("float32"), grid.zeros("float32")
    return grid.plan_sweep(lambda u, x_minus, x_plus, y_minus, y_plus: y_minus, u, v, 40, norm="every")


DOING = {
    "collective": lambda: team.allreduce(x),
    "collectives": every_collective,
    "solve": lambda: sweep(),
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
long, long_out = (np.zeros(100 * team.n_pes, "float32") for _ in range(2))
team.allreduce(x)
sweep = made_sweep() if where == "solve" else None
if where in ("collectives", "solve"):
    DOING[where]()  # compiles the kernels
plan = team.plan_allreduce(x)
words[:] = 5
wait()  # compiles the kernel
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
