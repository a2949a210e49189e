"""Two teams of half the ranks each: one fails while the other waits for it in MPI."""

import os
import time

from mpi4py import MPI

import pennympi

world = MPI.COMM_WORLD
half = world.Split(world.Get_rank() % 2)
with pennympi.init(world), pennympi.init(half) as team:
    x = team.zeros(100, "float32")
    team.allreduce(x)
    team.synchronize()
    if world.Get_rank() == 3:
        os.write(1, f"fault {time.time()}\n".encode())
        raise ValueError("broken in one half")
    world.Barrier()
