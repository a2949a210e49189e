"""Every PE has a vector; afterwards every PE has the sum of all of them.

mpirun -np 4 python examples/first_allreduce.py
"""

from mpi4py import MPI

import pennympi

COUNT = 1_000_000

with pennympi.init(MPI.COMM_WORLD) as team:  # arrays are NumPy's on CPUs, CuPy's on GPUs
    me, n = team.me, team.n_pes
    x = team.full(COUNT, me + 1, "float32")  # (COUNT,), in symmetric memory: the same shape on every PE
    total = team.empty(COUNT, "float32")  # (COUNT,)

    team.allreduce(x, total)  # op="sum"; returns at once, and runs in the order of the current stream
    team.allreduce(x, op="max")  # without out: in place
    team.synchronize()  # now both are done

    wrong = int((total != n * (n + 1) / 2).sum() + (x != n).sum())
    wrong = sum(team.gather(wrong))  # any Python object, from every PE to every PE
    if me == 0:
        ran = team.explain(total.nbytes, "float32").algorithm
        print(f"{n} PEs on {team.backend}: a sum of {COUNT} floats by {ran}, a maximum in place, {wrong} elements wrong")
    assert wrong == 0
