"""A step of a computation and its AllReduce, captured once in a CUDA graph and launched many times.

    mpirun -np 4 python examples/cuda_graph.py

On CPUs there are no graphs: the same step is called as often, with the same plan.
"""

import numpy as np
from mpi4py import MPI

import pennympi

COUNT, REPLAYS = 4096, 1000

with pennympi.init(MPI.COMM_WORLD) as team:
    me, n = team.me, team.n_pes
    x = team.full(COUNT, me, "int64")  # (COUNT,)
    out, total = team.zeros(COUNT, "int64"), team.zeros(COUNT, "int64")  # (COUNT,)
    plan = team.plan_allreduce(x, out)  # prepared once: the algorithm, its memory, its compiled kernel
    stream = team.stream()

    def step():
        """x += 1; out = the sum over all PEs of x; total += out."""
        with stream:
            np.add(x, 1, out=x)
            plan(stream)
            np.add(total, out, out=total)

    step()  # what a first call compiles and allocates must not be captured
    team.synchronize()
    if team.backend == "cuda":
        stream.begin_capture()
        step()
        graph = stream.end_capture()
        for _ in range(REPLAYS):
            graph.launch(stream)
        how = f"a graph launched {REPLAYS} times"
    else:
        for _ in range(REPLAYS):
            step()
        how = f"no graphs on CPUs: the plan called {REPLAYS} times"
    team.synchronize()

    rounds = REPLAYS + 1
    expected = n * rounds * (rounds + 1) // 2 + rounds * n * (n - 1) // 2
    wrong = sum(team.gather(int((total != expected).sum())))
    if me == 0:
        print(f"{n} PEs on {team.backend}: {how}, {wrong} of {n * COUNT} totals wrong")
    assert wrong == 0
