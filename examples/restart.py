"""A loop that saves its state, and goes on from it, on another number of PEs too.

mpirun -np 4 python examples/restart.py state.h5 30
mpirun -np 3 python examples/restart.py state.h5 60
"""

import argparse
import os

import h5py
import numpy as np
from mpi4py import MPI

import pennympi

COUNT, EVERY = 1000, 10  # elements of the whole state; steps from one checkpoint to the next


def save(team, path, done, part):
    """Write the state, all PEs' parts; an older file stays until the new one is complete.  Collective."""
    parts = team.gather(part.get() if team.backend == "cuda" else part)
    if team.me == 0:
        with h5py.File(f"{path}.part", "w") as file:
            file["state"] = np.concatenate(parts)  # (COUNT,)
            file.attrs["steps"] = done
        os.replace(f"{path}.part", path)


def load(path, first, last):
    """Steps done and elements first..last-1 of the state: from the file, if there is one."""
    if not os.path.exists(path):
        return 0, np.arange(first, last)
    with h5py.File(path) as file:
        return int(file.attrs["steps"]), file["state"][first:last]


parser = argparse.ArgumentParser()
parser.add_argument("file")
parser.add_argument("steps", type=int, help="of the whole run, those before a restart included")
options = parser.parse_args()
with pennympi.init(MPI.COMM_WORLD) as team:
    me, n = team.me, team.n_pes
    first, last = me * COUNT // n, (me + 1) * COUNT // n  # this PE's elements
    began, mine = load(options.file, first, last)
    x = team.array(np.resize(mine, -(-COUNT // n)))[: last - first]  # (last - first,); symmetric: of one shape on all PEs
    for done in range(began + 1, options.steps + 1):
        total = team.allreduce(x.sum(keepdims=True))  # (1,): a step needs the sum over all PEs
        x[:] = (5 * x + total) % 1009
        if done % EVERY == 0 or done == options.steps:
            save(team, options.file, done, x)

    if me == 0:
        done, saved = load(options.file, 0, COUNT)  # what a restart would find
        expected = np.arange(COUNT)
        for _ in range(done):
            expected = (5 * expected + expected.sum()) % 1009
        right = bool((saved == expected).all())
        verdict = "is that of an unbroken run" if right else "is WRONG"
        print(f"{n} PEs on {team.backend}: from step {began} to {done}, the state in {options.file} {verdict}")
        assert right
