"""Gradients are averaged on a stream of high priority while the next ones are computed on another stream.

mpirun -np 4 python examples/overlap.py

compute | gradient 0 | gradient 1 | gradient 2 | ...
push    |            | average 0  | average 1  | ...
"""

import time

import numpy as np
from mpi4py import MPI

import pennympi

LAYERS, COUNT, STEPS = 8, 200_000, 5

with pennympi.init(MPI.COMM_WORLD) as team:
    me, n = team.me, team.n_pes
    weights = team.array(np.random.default_rng(7).random((LAYERS, COUNT), "float32"))  # (LAYERS, COUNT), on every PE
    gradients = team.zeros((LAYERS, COUNT), "float32")  # (LAYERS, COUNT)

    def step(compute, push):
        """The gradients of all layers, averaged over the PEs: computed on one stream, averaged on the other."""
        for weight, gradient in zip(weights, gradients, strict=True):  # (COUNT,), (COUNT,)
            with compute:
                gradient[:] = np.tanh(weight) * (me + 1)
            push.wait_event(compute.record())
            team.allreduce(gradient, op="avg", stream=push, sms=8)  # on 8 multiprocessors at most; the others compute
        compute.wait_event(push.record())  # the next step overwrites the gradients

    def seconds(compute, push):
        step(compute, push)  # compiles and allocates
        team.synchronize()
        team.comm.Barrier()
        start = time.perf_counter()
        for _ in range(STEPS):
            step(compute, push)
        team.synchronize()
        return (time.perf_counter() - start) / STEPS

    compute, push = team.stream(), team.stream(priority="high")
    together, in_turn = seconds(compute, push), seconds(compute, compute)
    error = max(team.gather(float(abs(gradients - np.tanh(weights) * ((n + 1) / 2)).max())))
    if me == 0:
        what = f"{1e6 * together:.0f} us a step on two streams, {1e6 * in_turn:.0f} on one"
        note = "" if team.backend == "cuda" else " (a CPU has no streams: both run in one order)"
        print(f"{n} PEs on {team.backend}: {what}{note}; largest error {error:.1e}")
    assert error < 1e-5 * n
