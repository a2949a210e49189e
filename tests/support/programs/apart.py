"""python apart.py: a team on one host whose PEs can't map each other's memory, and its results."""

import numpy as np

import pennympi

with pennympi.init() as team:
    x = np.full(10_000, team.me + 1.0)
    team.allreduce(x)
    assert (x == sum(range(team.n_pes + 1))).all()
    y = team.zeros(100_000)
    team.put(y, np.full(100_000, 1.0 + team.me), (team.me + 1) % team.n_pes)
    team.barrier()
    assert (y == 1.0 + (team.me - 1) % team.n_pes).all()
    if team.me == 0:
        print("nodes", [list(pes) for pes in team.pe_topology.nodes], flush=True)
