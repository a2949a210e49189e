"""A loop that saves its state, and goes on from it, on another number of PEs too.

mpirun -np 4 python examples/restart.py state.h5 30
mpirun -np 3 python examples/restart.py state.h5 60
"""

import argparse
import os

import numpy as np
from mpi4py import MPI

import pennympi

COUNT, EVERY = 1000, 10  # elements of the whole state; steps from one checkpoint to the next

parser = argparse.ArgumentParser()
parser.add_argument("file")
parser.add_argument("steps", type=int, help="number of steps of the whole run, with those before a restart")
options = parser.parse_args()
with pennympi.init(MPI.COMM_WORLD) as team:
    grid = team.grid((COUNT,))  # each PE has some of the elements
    state = grid.zeros("int64")
    own = grid.interior(state)  # this PE's own elements, a view
    own[...] = grid.coordinates()[0]  # 0, 1, 2, ...
    began = 0
    if team.comm.bcast(os.path.exists(options.file)):
        began = grid.load(options.file, state=state)["steps"]
    for done in range(began + 1, options.steps + 1):
        total = team.allreduce(own.sum(keepdims=True))  # (1,): a step needs the sum over all PEs
        own[...] = (5 * own + total) % 1009
        if done % EVERY == 0 or done == options.steps:
            grid.save(options.file, state=state, steps=done)  # an older file stays until the new one is complete

    done = grid.load(options.file, state=state)["steps"]  # what a restart would find
    saved = grid.gather(state)
    if team.me == 0:
        expected = np.arange(COUNT)
        for _ in range(done):
            expected = (5 * expected + expected.sum()) % 1009
        right = bool((saved == expected).all())
        verdict = "is that of an unbroken run" if right else "is WRONG"
        print(f"{team.n_pes} PEs on {team.backend}: from step {began} to {done}, the state in {options.file} {verdict}")
        assert right
