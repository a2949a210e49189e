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
from mpi4py import MPI

import pennympi
from pennympi.bench.rivals.mpi import Mpi

POINTS = (64, 128)
BURSTS, BURST_S, MOST_CALLS = 31, 0.02, 2000
SIDES = [axis + sign for axis in "xyz" for sign in "-+"]
OTHER = {"-": "+", "+": "-"}


def opposite(side):
    return side[0] + OTHER[side[1]]


def packed(comm, grid, u):
    """Sendrecv of contiguous buffers; a PE that is its own neighbour copies."""
    ends = [(grid.boundary(u, side), grid.halo_of(u, opposite(side)), *neighbours(grid, side)) for side in SIDES]
    send, receive = ([np.empty(end[k].shape) for end in ends] for k in (0, 1))

    def exchange():
        for (mine, halo, to, source), out, into in zip(ends, send, receive, strict=True):
            if to == comm.rank:
                halo[...] = mine
            else:
                out[...] = mine
                comm.Sendrecv(out, to, 0, into, source, 0)
                halo[...] = into

    return exchange


def subarrays(comm, grid, u):
    """Sendrecv of MPI's subarray datatypes; a PE that is its own neighbour copies."""
    ends = []
    for side in SIDES:
        mine, halo = grid.boundary(u, side), grid.halo_of(u, opposite(side))
        ends.append((mine, halo, subarray(u, mine), subarray(u, halo), *neighbours(grid, side)))

    def exchange():
        for mine, halo, out, into, to, source in ends:
            if to == comm.rank:
                halo[...] = mine
            else:
                comm.Sendrecv([u, 1, out], to, 0, [u, 1, into], source, 0)

    return exchange


def persistent(comm, grid, u):
    """Persistent requests of contiguous buffers, all faces at once; a PE that is its own neighbour copies."""
    copies, packs, unpacks, requests = [], [], [], []
    for tag, side in enumerate(SIDES):
        mine, halo = grid.boundary(u, side), grid.halo_of(u, opposite(side))
        to, source = neighbours(grid, side)
        if to == comm.rank:
            copies.append((halo, mine))
            continue
        out, into = np.empty(mine.shape), np.empty(mine.shape)
        packs.append((out, mine))
        unpacks.append((halo, into))
        requests += [comm.Recv_init(into, source, tag), comm.Send_init(out, to, tag)]

    def exchange():
        for out, mine in packs:
            out[...] = mine
        MPI.Prequest.Startall(requests)
        for halo, mine in copies:
            halo[...] = mine
        MPI.Request.Waitall(requests)
        for halo, into in unpacks:
            halo[...] = into

    exchange.requests = requests
    return exchange


def neighbours(grid, side):
    """The rank that a side's points go to, and the one that points come from at the opposite side."""
    return grid.neighbour(side), grid.neighbour(opposite(side))


def subarray(u, part):
    """The datatype of a view's points in its array."""
    first = np.unravel_index((part.ctypes.data - u.ctypes.data) // u.itemsize, u.shape)
    return MPI.DOUBLE.Create_subarray(u.shape, part.shape, [int(one) for one in first]).Commit()


WAYS = {"packed": packed, "subarrays": subarrays, "persistent": persistent}


def checked(comm, grid, u, name, exchange):
    """Exchange random points, and compare every point of the halo with the whole grid's."""
    points = np.random.default_rng(comm.bcast(time.time_ns())).random(grid.shape)
    u[...] = -1
    grid.interior(u)[...] = points[tuple(slice(f, f + n) for f, n in zip(grid.first, grid.own, strict=True))]
    exchange()
    index = [np.arange(f - 1, f + n + 1) % whole for f, n, whole in zip(grid.first, grid.own, grid.shape, strict=True)]
    right = points[np.ix_(*index)]
    inner = grid.interior(u)
    same = (inner == grid.interior(right)).all()
    same = same and all((grid.halo_of(u, side) == grid.halo_of(right, side)).all() for side in SIDES)
    if not comm.allreduce(bool(same), MPI.LAND):
        raise SystemExit(f"{name}: a halo of {grid} is wrong")


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
    ways = {name: make(comm, grid, u) for name, make in WAYS.items()} | {"pennympi": grid.plan_exchange(u)}
    for name, exchange in ways.items():
        checked(comm, grid, u, name, exchange)
    row = {"points": n, "dims": list(dims), "us": timed(comm, ways)}
    for request in ways["persistent"].requests:
        request.Free()
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
