"""Part of benchmarks/grids.py: the loop of docs/guides/grids.md in NumPy or CuPy, over mpi4py and over a grid."""

import statistics
import time
from contextlib import nullcontext
from pathlib import Path

import halo_cpu
import halo_gpu
from mpi4py import MPI

PAGE = Path(__file__).resolve().parent.parent / "docs" / "guides" / "grids.md"
STEPS, BURSTS = 20, 7


def loops(team):
    """A field of n^3 points a PE, cut along z, where all lines of a face are apart."""
    for n in (64, 256) if team.backend == "cuda" else (16,):
        yield f"loop of {n}^3 a PE", lambda n=n: measure(team, n)


def step_of_page():
    """The function ``step`` of the page."""
    text = PAGE.read_text()
    text = text[text.index("<!-- step -->") :]
    names = {}
    exec(text[text.index("```python\n") + 10 : text.index("\n```\n")], names)
    return names["step"]


def over_mpi(team, grid, fields, step):
    """A loop as on the page: exchange, then all own points; on GPUs through pinned memory, packed by one kernel."""
    on_gpu = team.backend == "cuda"
    way = halo_gpu.WAYS["mpi"] if on_gpu else halo_cpu.WAYS["packed"]
    exchanges, stream = [way(team, grid, u) for u in fields], team.stream()
    inside = tuple(slice(h, h + n) for h, n in zip(grid.halo, grid.own, strict=True))

    def run():
        with stream if on_gpu else nullcontext():
            for k in range(STEPS):
                u, new = fields[k % 2], fields[(k + 1) % 2]
                exchanges[k % 2](stream)
                new[inside] = step(u, inside)
        team.synchronize(stream)

    return run


def over_grid(team, grid, fields, step, overlap=True):
    """The loop that the page ends with; without overlap it is one part, with fewer launches."""
    exchanges, stream = [grid.plan_exchange(u) for u in fields], team.stream()

    def run():
        for k in range(STEPS):
            u, new = fields[k % 2], fields[(k + 1) % 2]
            with grid.overlap(exchanges[(k + 1) % 2], stream, split=overlap) as parts:
                for part in parts:
                    with part.stream:
                        new[part.slices] = step(u, part.slices)
        team.synchronize(stream)

    return run


def measure(team, n):
    """A row for each loop.  Collective."""
    grid, comm = team.grid((n, n, n * team.n_pes), (1, 1, team.n_pes), periodic=True), team.comm
    fields, step, rows = [grid.zeros("float64") for _ in range(2)], step_of_page(), []
    ways = {"mpi4py": over_mpi, "grid, overlap": over_grid, "grid, one part": lambda *given: over_grid(*given, False)}
    for name, make in ways.items():
        x, y, z = grid.coordinates()
        grid.interior(fields[0])[...] = (x * y + z) % 7
        exchange = grid.plan_exchange(fields[0])
        team.synchronize(), comm.Barrier()
        exchange()
        team.synchronize(), comm.Barrier()
        run, found = make(team, grid, fields, step), []
        for _ in range(1 + BURSTS):
            comm.Barrier()
            start_s = time.perf_counter()
            run()
            us = (time.perf_counter() - start_s) / STEPS * 1e6
            found.append(comm.allreduce(us, op=MPI.MAX))
        total = float(grid.interior(fields[0]).sum())  # the same bits from all loops
        rows.append({"points": n, "loop": name, "us": statistics.median(found[1:]), "sum": total})
        del run, exchange
    if not comm.allreduce(len({row["sum"] for row in rows}) == 1, op=MPI.LAND):
        raise SystemExit(f"the loops differ: {rows}")
    team.synchronize(), comm.Barrier()
    for u in fields:
        team.free(u)
    return rows
