"""python different_meetings.py KIND: the last PE makes another set-up call than the others."""

import os
import sys
import time

from mpi4py import MPI

import pennympi


def free_in_another_order(team, odd):
    first, second = team.zeros(3, "float32"), team.zeros(3, "float32")
    for array in (second, first) if odd else (first, second):
        team.free(array)


KINDS = {
    "a gather more": lambda team, odd: odd and team.gather(1),
    "an empty more": lambda team, odd: odd and team.empty(3, "float32"),
    "free in another order": free_in_another_order,
    "gather against empty": lambda team, odd: team.gather(1) if odd else team.empty(3, "float32"),
}

with pennympi.init() as team:
    for _ in range(3):
        team.free(team.zeros(10, "float32"))
    os.write(1, f"fault {time.time()}\n".encode())
    KINDS[sys.argv[1]](team, team.me == team.n_pes - 1)
MPI.COMM_WORLD.Barrier()
if MPI.COMM_WORLD.Get_rank() == 0:
    print("done")
