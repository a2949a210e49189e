"""``pennympi.Comm`` on CPUs beside the two that it chooses from: mpi4py, and the team.

    mpirun -np 2 python benchmarks/comm.py --output comm.json

us of a call on the slowest rank, the median of bursts of the three by turns.  With PENNYMPI_COMM_FROM_BYTES=0 every call
of Comm goes by the team: from what size that is faster is FROM_BYTES of pennympi/mpi/comm.py.
"""

import numpy as np
import rows

import pennympi
from pennympi.bench.timing import Effort, on_host

EFFORT = Effort(calls=20, budget_ms=20.0)
SIZES = [8 << k for k in range(0, 22, 3)]


def calls(comm, team, n):
    """{name: (the call of a communicator, the same of the team)}, of messages of n float64 in all."""
    p = comm.size
    x, out, part = np.ones(n), np.zeros(n), np.ones(max(1, n // p))
    parts, parts_out = np.ones(p * part.size), np.zeros(p * part.size)
    counts = [part.size] * p
    return {
        "Bcast": (lambda by: by.Bcast(x), lambda: team.broadcast(x)),
        "Allreduce": (lambda by: by.Allreduce(x, out), lambda: team.allreduce(x, out)),
        "Reduce": (lambda by: by.Reduce(x, out), lambda: team.reduce(x, out)),
        "Allgather": (lambda by: by.Allgather(part, parts), lambda: team.all_gather(part, parts)),
        "Allgatherv": (
            lambda by: by.Allgatherv(part, [parts, counts]),
            lambda: team.all_gatherv(part, parts, counts),
        ),
        "Alltoall": (lambda by: by.Alltoall(parts, parts_out), lambda: team.all_to_all(parts, parts_out)),
        "Reduce_scatter_block": (
            lambda by: by.Reduce_scatter_block(parts, part),
            lambda: team.reduce_scatter(parts, part),
        ),
        "Reduce_scatter": (
            lambda by: by.Reduce_scatter(parts, part, counts),
            lambda: team.reduce_scatterv(parts, part, counts),
        ),
    }


def every(team):
    """All rows.  Collective."""
    plain, comm = team.comm, pennympi.Comm(team.comm)
    for size in SIZES:
        for name, (call, by_team) in calls(plain, comm.team, size // 8).items():
            ways = {"mpi4py": lambda _: call(plain), "team": lambda _: by_team(), "Comm": lambda _: call(comm)}  # noqa: B023
            for way, times in zip(ways, on_host(team, list(ways.values()), EFFORT), strict=True):
                yield {"call": name, "size": size, "way": way, "us": round(times.median_us, 3)}


if __name__ == "__main__":
    rows.main(__doc__, every)
