"""python stopped.py LOOP RANK AFTER_S: PE RANK is stopped AFTER_S seconds after its first call, wherever it is then."""

import os
import signal
import sys
import threading
import time

from mpi4py import MPI

import pennympi

loop, rank, after_s = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])


def stop():
    os.write(1, f"fault {time.time()}\n".encode())
    os.kill(os.getpid(), signal.SIGSTOP)


def soon():
    if MPI.COMM_WORLD.Get_rank() == rank:
        threading.Timer(after_s, stop).start()


def again_and_again(call):
    with pennympi.init() as team:
        soon()
        while True:
            call(team)


if loop == "init":
    pennympi.init().finalize()
    soon()
    while True:
        pennympi.init().finalize()
elif loop == "gather":
    again_and_again(lambda team: team.gather(team.me))
elif loop == "large gather":
    again_and_again(lambda team: team.gather(bytes(10 << 20)))
elif loop == "empty":
    again_and_again(lambda team: team.free(team.zeros(1000, "float32")))
