"""The six faces of a field on CPUs: this library's exchange beside mpi4py, in three forms, by turns in one job.

mpirun -np 2 python benchmarks/halo.py benchmarks/results/halo-2-mpich.json       and 4
Every PE has 64^3, then 128^3 points of float64, periodic, so that each has six faces to exchange, whatever the number of
PEs.  Times are us of an exchange on the slowest rank: the median of bursts.  Before it is timed, each form exchanges
random points, and every point of the halo is compared with the whole grid's.
"""

import json
import os
import sys
import time
from pathlib import Path

import numpy as np
from halo_cpu import WAYS
from halo_faces import checked
from mpi4py import MPI

import pennympi
from pennympi.bench.rivals.mpi import Mpi

POINTS = (64, 128)
BURSTS, BURST_S, MOST_CALLS = 31, 0.02, 2000


def timed(comm, ways):
    """{name: median us of an exchange on the slowest rank}, a burst of each by turns, in another order each time: where
    other programs run too, the system gives a way more time after one that left the core to others while it waited."""
    calls, rng = {}, np.random.default_rng(0)
    for name, exchange in ways.items():
        exchange()
        comm.Barrier()
        start_s = time.perf_counter()
        for _ in range(3):
            exchange()
        calls[name] = comm.bcast(max(3, min(MOST_CALLS, int(3 * BURST_S / (time.perf_counter() - start_s)))))
    found = {name: [] for name in ways}
    for _ in range(BURSTS):
        for name in map(str, rng.permutation(list(ways))):
            comm.Barrier()
            start_s, exchange = time.perf_counter(), ways[name]
            for _ in range(calls[name]):
                exchange()
            us = (time.perf_counter() - start_s) / calls[name] * 1e6
            found[name].append(comm.allreduce(us, MPI.MAX))
    return {name: sorted(us)[BURSTS // 2] for name, us in found.items()}


def measure(team, comm, n, dims):
    """{"points", "dims", "us": {name: us}} of exchanges with n^3 points a PE."""
    grid = team.grid([n * p for p in dims], dims, periodic=True)
    u = grid.zeros("float64")
    ways = {name: make(team, grid, u) for name, make in WAYS.items()} | {"pennympi": grid.plan_exchange(u)}
    for name, exchange in ways.items():
        checked(team, grid, u, name, exchange)
    row = {"points": n, "dims": list(dims), "us": timed(comm, ways)}
    ways["persistent"].free()
    del ways, exchange
    team.barrier()
    team.free(u)
    return row


def cpu():
    """The CPU's name."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "CPU")


def main():
    path, comm = Path(sys.argv[1]), MPI.COMM_WORLD
    size = comm.size
    every = dict.fromkeys([(size, 1, 1), (1, 1, size), tuple(MPI.Compute_dims(size, 3))])
    with pennympi.init(comm, backend="host") as team:
        rows = [measure(team, comm, n, dims) for n in POINTS for dims in every]
        if team.me == 0:
            facts = {"device": cpu(), "cores": len(os.sched_getaffinity(0)), "mpi": Mpi(team).version}
            result = {"pennympi": pennympi.__version__, "PEs": size, **facts, "rows": rows}
            path.write_text(json.dumps(result, indent=1) + "\n")
            for row in rows:
                told = "  ".join(f"{name} {us:8.1f}" for name, us in row["us"].items())
                print(f"{row['points']}^3 a PE, dims {row['dims']}:  {told} us", flush=True)


if __name__ == "__main__":
    main()
