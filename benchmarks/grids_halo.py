"""Parts of benchmarks/grids.py: exchanges of a float64 field, by this library and by others."""

import halo_cpu
import halo_gpu
from halo_faces import checked

from pennympi.bench.timing import Effort, host_cost_us, on_device, on_host

EFFORT = Effort(budget_ms=60.0)


def points(team):
    """Points of a PE by dimension: all of them large enough on a GPU, else few."""
    return (64, 128, 256) if team.backend == "cuda" else (16, 32)


def every_face(team):
    """Periodic in all dimensions, so that every PE has six faces."""
    p = team.n_pes
    for n in points(team):
        for dims in dict.fromkeys([(p, 1, 1), (1, 1, p), (1, p, 1)]):
            yield f"{n}^3 over {dims}", lambda n=n, dims=dims: measure(team, n, dims, True)


def one_face(team):
    """Not periodic: with two PEs one face of each, contiguous lines (dims (2, 1, 1)) or points apart (dims (1, 1, 2))."""
    p, n = team.n_pes, points(team)[-1]
    for dims in ((p, 1, 1), (1, p, 1), (1, 1, p)):
        yield f"a face of {n}^3 over {dims}", lambda dims=dims: measure(team, n, dims, False)


def measure(team, n, dims, periodic):
    """A row for each way to exchange n^3 points a PE.  Collective."""
    grid = team.grid([n * one for one in dims], dims, periodic=periodic)
    u, on_gpu = grid.zeros("float64"), team.backend == "cuda"
    others = halo_gpu.WAYS if on_gpu else halo_cpu.WAYS
    ways = {"pennympi": grid.plan_exchange(u)} | {name: make(team, grid, u) for name, make in others.items()}
    stream, rows = team.stream(), []
    for name, exchange in ways.items():
        checked(team, grid, u, name, lambda exchange=exchange: exchange(stream))
    if on_gpu:
        for name, exchange in ways.items():
            us = {}
            for mode in ("eager",) if name == "mpi" else ("eager", "graph"):
                times = on_device(team, exchange, stream, EFFORT, mode == "graph")
                us[times.mode] = times.median_us  # a call that can't be captured is timed without a graph
            host_us = host_cost_us(team, exchange, stream)
            rows.append({"points": n, "dims": dims, "periodic": periodic, "way": name, "us": us, "host_us": host_us})
    else:
        for name, times in zip(ways, on_host(team, list(ways.values()), EFFORT), strict=True):
            us = {"host": times.median_us}
            rows.append({"points": n, "dims": dims, "periodic": periodic, "way": name, "us": us})
    for exchange in ways.values():
        getattr(exchange, "free", lambda: None)()
    del ways, exchange
    team.synchronize(), team.comm.Barrier()
    team.free(u)
    return rows
