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
    seed, modes = team.gather(secrets.randbits(48))[0], (False, True) if on_gpu else (False,)
    runs = {(name, graph): run_of(team, name, graph, seed) for name in NAMES for graph in modes}
    for nbytes in sizes:
        for (name, graph), run in runs.items():
            case = f"{name} {nbytes}{', graph' * graph}"
            yield case, lambda case=case, run=run, nbytes=nbytes: measure(case, run, ways, nbytes)


def run_of(team, name, graph, seed):
    case, options = CASES[name], Options(effort=Effort(budget_ms=40.0), graph=graph)
    return Run(team, case, dtype_of("float32"), "sum" if case.reduces else "", options, seed)


def measure(case, run, ways, nbytes):
    """A row for each implementation.  Collective."""
    rows = [asdict(row) for row in run.measure(ways, nbytes, False) if row]
    if any(row["wrong"] for row in rows):
        raise SystemExit(f"{case} is wrong: {rows}")
    return [{key: row[key] for key in KEPT} for row in rows]
