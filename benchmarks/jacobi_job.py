"""The job that benchmarks/jacobi.py starts: it verifies and times variants, and writes its answer after every run.

    mpirun -np N python3 benchmarks/jacobi_job.py REQUEST.json

The request holds cases [(n, nccheck)], todo {variant: cases to run}, iterations, repeat, backend, small (nx, ny, sweeps),
small_checks (its values of nccheck), until (seconds since 1970, after which nothing more begins) and answer (a file).
The answer holds job (devices and versions), rows, refused {variant: why}, left_out, and now (the running variant, None
at the end).
"""

import hashlib
import json
import os
import sys
import time
from importlib import metadata
from pathlib import Path

import numpy as np
from mpi4py import MPI

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import pennympi  # noqa: E402
from apps.jacobi.grid.problem import Problem  # noqa: E402
from apps.jacobi.report.report import environment  # noqa: E402
from apps.jacobi.solver import Solver  # noqa: E402
from apps.jacobi.variants import TABLE  # noqa: E402
from apps.jacobi.variants.memory import heap_bytes  # noqa: E402
from apps.jacobi.verify import reference  # noqa: E402
from apps.program.copy_rate import copy_rate  # noqa: E402
from apps.program.device import array_module, to_numpy  # noqa: E402

PACKAGES = (
    "numpy", "numba", "numba-cuda", "cupy-cuda13x", "cupy-cuda12x", "cuda-core", "nvshmem4py-cu13", "nvshmem4py-cu12",
    "nvidia-nccl-cu13", "nvidia-nccl-cu12", "mpi4py", "h5py",
)  # fmt: skip
COPY_BYTES = {"cuda": 1 << 30, "host": 64 << 20}
TIMED_S, MIN_RUNS = 1.0, 2  # runs are repeated until they have taken this long together, and this often at least
ROWS_AT_A_TIME = 1024


def fingerprint(solver):
    """A digest of the whole field on PE 0, the same for any number of PEs.  Collective.

    It digests one number for each row: the sum of the bits of its columns, each times an odd factor of its own.
    """
    fields, xp = solver.steps.fields, array_module(solver.team)
    own = fields.old[fields.depth : fields.depth + fields.slab.rows, : solver.problem.nx].view("uint32")
    factors = xp.asarray(np.random.default_rng(4).integers(0, 1 << 64, own.shape[1], "uint64") | np.uint64(1))
    starts = range(0, len(own), ROWS_AT_A_TIME)
    sums = [to_numpy((own[k : k + ROWS_AT_A_TIME] * factors).sum(axis=1, dtype="uint64")) for k in starts]
    parts = solver.team.comm.gather(np.concatenate(sums).tobytes())
    return hashlib.sha1(b"".join(parts)).hexdigest() if parts else None


def timed(team, problem, variant, repeat):
    """Time a case: {seconds: of the best run, runs: seconds of each on the slowest PE, field, norms: digests}."""
    solver = Solver(team, problem, variant)
    solver.reset()
    solver.warm_up()
    runs = []
    while len(runs) < MIN_RUNS or (len(runs) < repeat and sum(runs) < TIMED_S):
        solver.reset()
        team.comm.Barrier()
        begin = time.perf_counter()
        outcome = solver.run()
        runs.append(team.comm.allreduce(time.perf_counter() - begin, op=MPI.MAX))
    norms = hashlib.sha1(json.dumps(outcome.history).encode()).hexdigest()
    result = {"seconds": min(runs), "runs": runs, "field": fingerprint(solver), "norms": norms}
    solver.free()
    return result


def verified(team, variant, small, checks):
    """(points of the small problem whose bits differ from NumPy's, whether the norms are close).  Collective.

    small: (nx, ny, sweeps);  checks: values of nccheck
    """
    nx, ny, sweeps = small
    wrong, near = 0, True
    expected, norms = reference.solve(Problem(nx, ny), sweeps)
    for nccheck in checks:
        solver = Solver(team, Problem(nx, ny, niter=sweeps, nccheck=nccheck, tol=0.0), variant)
        solver.reset()
        outcome = solver.run()
        mine = expected[solver.slab.first : solver.slab.first + solver.slab.rows]
        wrong += int((solver.rows(0, solver.slab.rows).view("u4") != mine.view("u4")).sum())
        near = near and bool(np.allclose([norm for _, norm in outcome.history], norms[::nccheck], rtol=1e-6))
        solver.free()
    return team.comm.allreduce(wrong), team.comm.allreduce(near, op=MPI.LAND)


def job_facts(team):
    """Devices, versions, topology and bandwidth of this job.  Collective."""
    xp, nbytes = array_module(team), COPY_BYTES[team.backend]
    copy_bytes_per_s = copy_rate(team, xp.ones(nbytes // 4, "float32"), xp.empty(nbytes // 4, "float32"))
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    facts = {**environment(team), **dict(team.describe()), "packages": versions, "topology": team.topology()}
    return facts | {"cores": os.cpu_count(), "copy_GBps": copy_bytes_per_s / 1e9}


class Job:
    """The job on this PE; PE 0 writes the answer."""

    def __init__(self, request):
        self.request, self.iterations = request, request["iterations"]
        n_pes = MPI.COMM_WORLD.size
        problems = [self.problem(*case) for case in request["cases"]]
        heap = max(heap_bytes(problem, n_pes, name) or 0 for problem in problems for name in TABLE)
        self.team = pennympi.init(backend=request["backend"], heap_bytes=heap or None)
        self.problems = problems
        self.answer = {"job": job_facts(self.team), "rows": [], "refused": {}, "left_out": [], "now": None}

    def problem(self, n, nccheck):
        return Problem(n, n, niter=self.iterations, nccheck=nccheck, tol=0.0)

    def write(self, now):
        """Write the answer so far.  now: the variant that is about to run"""
        self.answer["now"] = now
        if self.team.me == 0:
            path = Path(self.request["answer"])
            part = path.with_suffix(".part")
            part.write_text(json.dumps(self.answer))
            part.rename(path)

    def late(self):
        """Whether the time is over, so that nothing more may begin; the same on all PEs."""
        return self.team.comm.bcast(time.time() > self.request["until"])

    def run(self):
        """Run all cases of the request."""
        for name, cases in self.request["todo"].items():
            self.write(name)
            reason = next(filter(None, (TABLE[name].refuse(self.team, problem) for problem in self.problems)), "")
            if reason:
                self.answer["refused"][name] = reason
                continue
            check = None
            for n, nccheck in cases:
                if self.late():
                    self.answer["left_out"].append([name, n, nccheck])
                    continue
                check = check or verified(self.team, name, self.request["small"], self.request["small_checks"])
                self.row(name, n, nccheck, *check)
                self.write(name)
        self.write(None)
        self.team.finalize()

    def row(self, name, n, nccheck, wrong, near):
        """Run one variant on one case."""
        row = {"variant": name, "pes": self.team.n_pes, "n": n, "nccheck": nccheck, "wrong": wrong, "near": near}
        row |= timed(self.team, self.problem(n, nccheck), name, self.request["repeat"])
        self.answer["rows"].append(row)
        if self.team.me == 0:
            updates = n * n * self.iterations / row["seconds"] / 1e9
            place = f"{row['pes']} PEs  {n}^2  every {nccheck}"
            good = "ok" if near and not wrong else f"WRONG ({wrong} points, norms near: {near})"
            print(f"{name:16} {place:26} {row['seconds']:.4f} s  {updates:8.1f} GLUP/s  {good}", flush=True)


if __name__ == "__main__":
    Job(json.loads(Path(sys.argv[1]).read_text())).run()
