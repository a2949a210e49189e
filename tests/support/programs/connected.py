"""python connected.py HOW FAULT PE: a team whose processes are in two MPI.COMM_WORLDs, and a PE that raises or leaves.

HOW: spawned (a master and two workers), spawned_one (a master and one), accepted (two jobs, each by an mpirun of its own)
FAULT: none, raises, leaves
"""

import os
import subprocess
import sys
import time

from launch import foreign, mpirun
from mpi4py import MPI

import pennympi

how, fault, who, *port = sys.argv[1:]
world, parent = MPI.COMM_WORLD, MPI.Comm.Get_parent()
own = [__file__, how, fault, who]


def connect():
    """(the other group's communicator, whether its PEs come first)."""
    if parent != MPI.COMM_NULL:
        return parent, True
    if how != "accepted":
        return MPI.COMM_SELF.Spawn(sys.executable, own, maxprocs=1 if how == "spawned_one" else 2), False
    if port:
        return world.Connect(port[0]), True
    name = MPI.Open_port() if world.rank == 0 else None
    if world.rank == 0:
        plain = {key: value for key, value in os.environ.items() if not foreign(key)}
        subprocess.Popen([mpirun(), "-np", "2", sys.executable, *own, name], env=plain)
    return world.Accept(name), False


inter, after = connect()
team = pennympi.init(inter.Merge(after))
x = team.full(100, team.me + 1.0)
team.allreduce(x)
assert (x == sum(range(team.n_pes + 1))).all()
team.gather(0)
if fault == "none":
    team.finalize()
    inter.Disconnect()
    print("done", flush=True)
elif team.me == int(who):
    os.write(1, f"fault {time.time()}\n".encode())
    if fault == "raises":
        raise ValueError("broken on one PE")
else:
    team.barrier()
