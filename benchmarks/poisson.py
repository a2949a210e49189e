"""An iteration of every variant of apps/poisson, beside the time that its bytes take in a copy measured in the same job:

    mpirun -np 2 python3 benchmarks/poisson.py --shapes 64x64x64,128x128x128,256x256x256 --output poisson.json

Seconds are those of the slowest PE, the median of the rounds.  The bits of u after the same iterations are compared.
"""

import argparse
import json
import statistics
import sys
import time
import zlib
from pathlib import Path

from mpi4py import MPI

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import pennympi  # noqa: E402
from apps.poisson import manufactured  # noqa: E402
from apps.poisson.cli import sizes  # noqa: E402
from apps.poisson.problem import PRECONDITIONERS, Problem  # noqa: E402
from apps.poisson.run import heap_bytes  # noqa: E402
from apps.poisson.solver import Solver  # noqa: E402
from apps.poisson.variants import TABLE  # noqa: E402
from apps.program.copy_rate import copy_rate  # noqa: E402
from apps.program.outcome import Outcome  # noqa: E402

VALUES = 8  # that an iteration without a preconditioner reads or writes, for each point


def timed(solver, rounds):
    """Seconds of an iteration of each round, on the slowest PE.  Collective."""
    check, comm = solver.problem.check, solver.team.comm
    found = []
    for _ in range(rounds):
        comm.Barrier()
        start_s = time.perf_counter()
        solver.run(Outcome(), check)
        found.append(comm.allreduce(time.perf_counter() - start_s, op=MPI.MAX) / check)
    return found


def row_of(team, problem, variant, rounds):
    """One row of the results.  Collective."""
    solver = Solver(team, problem, variant)
    solver.set_f(manufactured.right_side(solver.grid, problem))
    solver.run(Outcome(), 2 * problem.check)  # kernels are loaded, graphs captured
    whole = solver.grid.gather(solver.fields["u"])
    each_s = statistics.median(timed(solver, rounds))
    rate = copy_rate(team, solver.fields["odd"], solver.fields["even"])
    floor_s = VALUES * problem.points * problem.item_bytes / rate
    solver.free()
    row = {"shape": problem.shape, "variant": variant, "us": 1e6 * each_s, "floor_us": 1e6 * floor_s}
    return row | {"share_of_copy": floor_s / each_s, "crc": zlib.crc32(whole) if team.me == 0 else None}


def main():
    """Print a line for each run, and write them all."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--shapes", type=lambda text: [sizes(one) for one in text.split(",")], default=[(64, 64, 64)])
    p.add_argument("--variants", type=lambda text: text.split(","), default=list(TABLE))
    p.add_argument("--preconditioner", choices=PRECONDITIONERS, default="none")
    p.add_argument("--dtype", choices=("float32", "float64"), default="float64")
    p.add_argument("--check", type=int, default=50)
    p.add_argument("--rounds", type=int, default=20)
    p.add_argument("--output", type=Path)
    options = p.parse_args()
    comm, rows = MPI.COMM_WORLD, []
    problems = [
        Problem(shape, (False,) * len(shape), options.dtype, 0.0, 1 << 30, options.check, 0, options.preconditioner)
        for shape in options.shapes
    ]
    with pennympi.init(comm, heap_bytes=max((heap_bytes(one, comm.size) or 0) for one in problems) or None) as team:
        for problem in problems:
            for variant in options.variants:
                if reason := TABLE[variant].refuse(team, problem):
                    rows.append({"shape": problem.shape, "variant": variant, "refused": reason})
                else:
                    rows.append(row_of(team, problem, variant, options.rounds))
                if team.me == 0:
                    print(json.dumps(rows[-1]), flush=True)
        same = all(
            len({row["crc"] for row in rows if row["shape"] == one.shape and "crc" in row}) <= 1 for one in problems
        )
        about = {"device": team.device_name, "n_pes": team.n_pes, "backend": team.backend, "same_bits": same}
    if comm.rank == 0:
        print(json.dumps(about))
        if options.output:
            options.output.write_text(
                json.dumps({"about": about, "options": vars(options) | {"output": None}, "rows": rows})
            )


if __name__ == "__main__":
    main()
