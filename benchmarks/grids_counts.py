"""Part of benchmarks/grids.py: collectives by counts, float32, uneven parts, beside NCCL's grouped calls or MPI."""

import secrets
from dataclasses import asdict

from pennympi.arrays.dtypes import dtype_of
from pennympi.bench.cases import CASES
from pennympi.bench.memory import symmetric
from pennympi.bench.ours import Ours
from pennympi.bench.rivals import RIVALS
from pennympi.bench.run import Options, Run
from pennympi.bench.timing import Effort

NAMES = ("all_gatherv", "reduce_scatterv", "all_to_allv")
KEPT = ("collective", "implementation", "size_bytes", "mode", "median_us", "algbw", "wrong")


def by_counts(team):
    """Plans of this library, in stream order and in a CUDA graph; the largest size is that of a PE's larger buffer."""
    on_gpu = team.backend == "cuda"
    sizes = (1 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20) if on_gpu else (1 << 10, 64 << 10)
    ways = [Ours(team, symmetric(team), planned=True), RIVALS["nccl" if on_gpu else "mpi"](team)]
    for one in ways:
        one.memory.grow(sizes[-1])
    seed = team.gather(secrets.randbits(48))[0]
    for nbytes in sizes:
        for name in NAMES:
            for graph in (False, True) if on_gpu else (False,):
                case = (name, nbytes, graph)
                yield f"{name} {nbytes}", lambda case=case: measure(team, ways, seed, *case)


def measure(team, ways, seed, name, nbytes, graph):
    """A row for each implementation.  Collective."""
    case, effort = CASES[name], Effort(budget_ms=40.0)
    run = Run(team, case, dtype_of("float32"), "sum" if case.reduces else "", Options(effort=effort, graph=graph), seed)
    rows = [asdict(row) for row in run.measure(ways, nbytes, False) if row]
    if any(row["wrong"] for row in rows):
        raise SystemExit(f"{name} of {nbytes} bytes is wrong: {rows}")
    return [{key: row[key] for key in KEPT} for row in rows]
