"""python first_calls.py [node]: two threads each make a team at the same time, and its first calls.

node: each PE is a node of its own
"""

import os
import sys
import threading

from mpi4py import MPI

import pennympi

world, start, right = MPI.COMM_WORLD, threading.Barrier(2), []
if sys.argv[1:]:
    os.environ["PENNYMPI_NODE"] = f"node{world.rank}"


def run(comm, ops):
    start.wait()
    with pennympi.init(comm, backend="host") as team:
        x = team.zeros(500, "int64")
        for op in ops:
            start.wait()
            for step in range(20):
                x[:] = step
                team.allreduce(x, op=op)
                assert (x == (step if op == "max" else step * team.n_pes)).all()
    right.append(comm)


threads = [
    threading.Thread(target=run, args=(world.Dup(), ops)) for ops in (("sum", "max", "sum"), ("sum", "max", "max"))
]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
world.Barrier()
if world.rank == 0 and len(right) == 2:
    print("done")
