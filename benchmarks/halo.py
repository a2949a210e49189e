"""The six faces of a field: this library's exchange beside MPI and NCCL, in one job.

    mpirun -np 2 python benchmarks/halo.py --output halo.json

n^3 points a PE of float64, periodic, so that each PE has six faces whatever the number of PEs.  Before it is timed, each
way exchanges random points, and every point of the halo is compared with the whole grid's.  Times are us of an exchange
on the slowest PE, the median of bursts: on CPUs by turns, on GPUs one by one and in a CUDA graph.
"""

import time

import halo_gpu
import halo_mpi
import rows
from halo_mpi import SIDES
from mpi4py import MPI

from pennympi.bench.implementation import array_module
from pennympi.bench.timing import Effort, on_device, on_host

EFFORT = Effort(budget_ms=60.0)


def check(team, grid, u, name, exchange):
    """Exchange random points, and compare every point of the halo with the whole grid's.  Collective."""
    comm, xp = team.comm, array_module(team)
    points = xp.random.default_rng(comm.bcast(time.time_ns() & 0xFFFFFFFF)).random(grid.shape)
    u[...] = -1
    grid.interior(u)[...] = points[tuple(slice(f, f + n) for f, n in zip(grid.first, grid.own, strict=True))]
    team.synchronize()
    comm.Barrier()
    exchange()
    team.synchronize()
    comm.Barrier()
    ends = zip(grid.first, grid.own, grid.shape, strict=True)
    right = points[xp.ix_(*(xp.arange(first - 1, first + n + 1) % whole for first, n, whole in ends))]
    pairs = [(grid.halo_of(u, side), grid.halo_of(right, side)) for side in SIDES]
    if not comm.allreduce(all(bool((one == other).all()) for one, other in pairs), MPI.LAND):
        raise SystemExit(f"{name}: a halo of {grid} is wrong")


def measure(team, n, dims):
    """A row for each way.  Collective."""
    grid, stream = team.grid([n * p for p in dims], dims, periodic=True), team.stream()
    u = grid.zeros("float64")
    others = halo_mpi.WAYS if team.backend == "host" else halo_gpu.WAYS
    ways = {"pennympi": grid.plan_exchange(u)} | {name: make(team, grid, u) for name, make in others.items()}
    for name, exchange in ways.items():
        check(team, grid, u, name, lambda exchange=exchange: exchange(stream))
    if team.backend == "host":
        times = [{"host": one.median_us} for one in on_host(team, list(ways.values()), EFFORT)]
    else:
        modes = [[on_device(team, way, stream, EFFORT, graph) for graph in (False, True)] for way in ways.values()]
        times = [{one.mode: one.median_us for one in both} for both in modes]
    yield from ({"points": n, "dims": dims, "way": way, "us": us} for way, us in zip(ways, times, strict=True))
    ways.clear()
    del exchange
    team.synchronize()
    team.barrier()
    team.free(u)


def every(team):
    """All rows."""
    p = team.n_pes
    for n in (64, 128) if team.backend == "host" else (64, 128, 256):
        for dims in dict.fromkeys([(p, 1, 1), (1, 1, p), (1, p, 1), tuple(MPI.Compute_dims(p, 3))]):
            yield from measure(team, n, dims)


if __name__ == "__main__":
    rows.main(__doc__, every)
