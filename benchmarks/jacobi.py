"""Every variant of the solver, verified and timed on 1 to N GPUs, beside NVIDIA's sample where its binaries are.

    python3 benchmarks/jacobi.py --pes 1,2,4 --output benchmarks/results/jacobi-4xH200.json
    python3 benchmarks/jacobi.py --pes 1,4 --nvidia ../multi-gpu-programming-models --launcher "srun -n {n}"
    python3 benchmarks/jacobi.py --tune

Run it without mpirun: it starts one job for each number of PEs.  A job first solves a small odd problem by every variant
and compares it with NumPy, bit for bit.  Then it times the cases; each run must end with the field and the norms, to the
last bit, of all other runs of its case, on any number of PEs.  The time is the slowest PE's, the best of a few runs,
without the first.  All kernels are compiled beforehand, side by side.
"""

import argparse
import hashlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

ITERATIONS = 1000
CASES = [(16384, 1), (16384, 100), (4096, 100)]  # (nx = ny, nccheck)
ALONE = ("single", "device", "graph", "persistent", "blocked")  # of a job of one PE
SMALL = (1003, 517, 40)  # nx, ny, sweeps of the problem that NumPy solves too
# Seconds at most, from the table: (n, PEs, nccheck, temporal blocking)
TARGETS = {
    (16384, 1, 1, False): 0.60, (16384, 1, 100, False): 0.53, (16384, 1, 100, True): 0.110, (16384, 1, 1, True): 0.22,
    (16384, 4, 1, False): 0.16, (16384, 4, 100, False): 0.14, (16384, 4, 100, True): 0.031, (16384, 4, 1, True): 0.060,
    (4096, 4, 100, True): 0.006,
}  # fmt: skip


# Kernels, compiled by as many processes as there are cores ------------------------------


def kernels():
    """(text, bodies, nx) of all that the cases and the small problem launch."""
    found = []
    for nx in (CASES[0][0], SMALL[0]):
        found += [("sweeps", (("march", 1, norms),), nx) for norms in ("none", "last")]
        passes = [(1, "none"), (1, "last"), (2, "none"), (4, "last"), (8, "none"), (8, "all")]
        found += [("exchanging_sweeps", (("march", *one),), nx) for one in passes]
        found.append(("persistent_sweeps", (("march", 1, "none"), ("summed_march", 1, "last")), nx))
    return found


def compile_one(job):
    """One kernel, to the cache, as ``sweeper.compiled`` asks for it."""
    import numba.cuda.dispatcher

    from apps.jacobi import band, sweep
    from apps.jacobi.variants import persistent
    from pennympi.bind import parameters
    from pennympi.cuda.compile import cubin
    from pennympi.dtypes import TABLE

    name, bodies, nx, cc = job
    # Numba asks the current device for this, and a context for each process would fill the GPU.
    numba.cuda.dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=cc)
    text = sweep.bound(getattr(sweep, name), "cuda", bodies, "float32", nx)
    resident = persistent.RESIDENT if name == "persistent_sweeps" else band.RESIDENT[bodies[0][1]]
    kinds = "i" * (len(parameters(text)) - 1)
    bounds = (band.THREADS, resident)
    cubin(text, text.__name__, kinds, TABLE["float32"], None, {}, False, False, cc, bounds)


def precompile():
    """Seconds that it took."""
    import cupy

    facts, begin = cupy.cuda.runtime.getDeviceProperties(0), time.monotonic()
    jobs = [(*one, (facts["major"], facts["minor"])) for one in kernels()]
    with ProcessPoolExecutor(min(len(jobs), os.cpu_count()), get_context("spawn")) as pool:
        list(pool.map(compile_one, jobs))
    return time.monotonic() - begin


# One job ------------------------------------------------------------------------------


def fingerprint(solver):
    """A digest of the whole field: of every row's bits, in the rows' order, on PE 0."""
    from apps.jacobi.device import to_numpy

    fields = solver.steps.fields
    own = fields.old[fields.depth : fields.depth + fields.slab.rows, : solver.problem.nx]
    words = own.view("uint32")
    sums = to_numpy(words.sum(axis=1, dtype="uint64")), to_numpy((words >> 16).sum(axis=1, dtype="uint64"))
    parts = solver.team.comm.gather(np.stack(sums, axis=1).tobytes())
    return hashlib.sha1(b"".join(parts)).hexdigest() if parts else None


def timed(team, problem, variant, repeat):
    """{seconds, field, norms} of one variant on one case."""
    from mpi4py import MPI

    from apps.jacobi.solver import Solver

    solver = Solver(team, problem, variant)
    solver.reset()
    solver.warm_up()
    runs = []
    while len(runs) < repeat and sum(runs) < 1.0:
        solver.reset()
        team.comm.Barrier()
        begin = time.perf_counter()
        outcome = solver.run()
        runs.append(team.comm.allreduce(time.perf_counter() - begin, op=MPI.MAX))
    norms = hashlib.sha1(json.dumps(outcome.history).encode()).hexdigest()
    result = {"seconds": min(runs), "runs": runs, "field": fingerprint(solver), "norms": norms}
    solver.free()
    return result


def verified(team, variant):
    """Points of the small problem that differ from NumPy's, on all PEs, and whether the norms are near."""
    from apps.jacobi import reference
    from apps.jacobi.problem import Problem
    from apps.jacobi.solver import Solver

    nx, ny, sweeps = SMALL
    problem = Problem(nx, ny, niter=sweeps, tol=-1)
    solver = Solver(team, problem, variant)
    solver.reset()
    outcome = solver.run()
    expected, norms = reference.solve(problem, sweeps)
    mine = expected[solver.slab.first : solver.slab.first + solver.slab.rows]
    wrong = int((solver.rows(0, solver.slab.rows).view("u4") != mine.view("u4")).sum())
    near = bool(np.allclose([norm for _, norm in outcome.history], norms, rtol=1e-6))
    solver.free()
    return team.comm.allreduce(wrong), near


def job(options):
    """On all PEs of an MPI job; PE 0 writes the results."""
    from mpi4py import MPI

    import pennympi
    from apps.jacobi.memory import heap_bytes
    from apps.jacobi.problem import Problem
    from apps.jacobi.variants import TABLE

    n_pes = MPI.COMM_WORLD.size
    problems = [Problem(n, n, niter=ITERATIONS, nccheck=nccheck, tol=0.0) for n, nccheck in CASES]
    heap = max(heap_bytes(problem, n_pes, name) or 0 for problem in problems for name in TABLE)
    team = pennympi.init(backend="cuda", heap_bytes=heap or None)
    names = [name for name in options.variants or (ALONE if n_pes == 1 else TABLE) if name in TABLE]
    rows, refused = [], {}
    for name in names:
        reason = TABLE[name].refuse(team, problems[0])
        if reason:
            refused[name] = reason
            continue
        wrong, near = verified(team, name)
        for problem in problems:
            row = {
                "variant": name,
                "pes": n_pes,
                "n": problem.nx,
                "nccheck": problem.nccheck,
                "wrong": wrong,
                "near": near,
            }
            row |= timed(team, problem, name, options.repeat)
            rows.append(row)
            if team.me == 0:
                updates = problem.nx * problem.ny * ITERATIONS / row["seconds"] / 1e9
                place = f"{n_pes} PEs  {problem.nx}^2  every {problem.nccheck}"
                good = "ok" if near and not wrong else f"WRONG ({wrong} points, norms near: {near})"
                print(f"{name:16} {place:26} {row['seconds']:.4f} s  {updates:6.0f} GLUP/s  {good}", flush=True)
    facts = dict(team.describe())
    if team.me == 0:
        Path(options.job).write_text(json.dumps({"facts": facts, "refused": refused, "rows": rows}))
    team.finalize()


def tune():
    """Time of one pass of 16384^2 on one GPU by the number of waves that its chunks make, us a sweep."""
    import cupy

    import pennympi
    from apps.jacobi import band
    from apps.jacobi.fields import Fields
    from apps.jacobi.limbs import segment
    from apps.jacobi.norm import words_shape
    from apps.jacobi.problem import Problem
    from apps.jacobi.sweeper import Sweeper

    n = CASES[0][0]
    problem = Problem(n, n)
    team = pennympi.init(backend="cuda", heap_bytes=3 << 30)
    fields, stream = Fields(team, problem, 2, 8), team.stream()
    fields.reset()
    words = cupy.zeros(words_shape(team, 8), "int64")
    sweeper = Sweeper(team, problem, 8, fields.pitch_bytes)
    strips = -(-n // segment("float32"))
    for count, norms in ((1, "none"), (1, "last"), (4, "last"), (8, "none"), (8, "all")):
        for waves in (0, 1, 2, 3, 4, 6, 8, 16):
            warps = band.WARPS * band.capacity(team, count)
            chunk = 3 * -(-n // (3 * max(1, waves * warps // strips))) if waves else 0
            rows = band.inner(team, problem, 8, 8 + n, count)
            if waves:
                blocks = -(-strips * -(-n // chunk) // band.WARPS)
                rows = band.Band(8, 8 + n, chunk, chunk, blocks)
            begin, end, times = cupy.cuda.Event(), cupy.cuda.Event(), []
            for _ in range(6):
                begin.record(stream)
                sweeper(fields.new, fields.old, rows, stream, words.data.ptr, count, norms)
                end.record(stream)
                end.synchronize()
                times.append(cupy.cuda.get_elapsed_time(begin, end) * 1e3 / count)
            what = f"{waves} waves" if waves else "as chosen"
            print(
                f"T {count} norms {norms:5} {what:10} chunk {rows.chunk_rows:5} rows: {min(times[1:]):7.1f} us a sweep",
                flush=True,
            )
    team.finalize()


# All jobs -----------------------------------------------------------------------------


def nvidia(options, n_pes, n, nccheck):
    """Rows of NVIDIA's sample: every folder of --nvidia that holds a program named jacobi."""
    rows = []
    for program in sorted(Path(options.nvidia).glob("*/jacobi")):
        more = ["-use_hp_streams"] if program.parent.name == "mpi_overlap" else []
        line = f"-csv -nx {n} -ny {n} -niter {ITERATIONS} -nccheck {nccheck}".split()
        command = [*shlex.split(options.launcher.format(n=n_pes)), str(program), *line, *more]
        try:
            ended = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=program.parent)
            fields = ended.stdout.strip().splitlines()[-1].split(", ")
            rows.append({"variant": f"NVIDIA {program.parent.name}", "pes": n_pes, "n": n, "nccheck": nccheck})
            rows[-1]["seconds"] = float(fields[7])
            print(f"{rows[-1]['variant']:22} {n_pes} PEs  {n}^2  every {nccheck}  {fields[7]} s", flush=True)
        except (subprocess.SubprocessError, IndexError, ValueError) as error:
            print(f"NVIDIA {program.parent.name} on {n_pes} PEs: {error!r}", flush=True)
    return rows


def differing(rows):
    """Cases whose runs do not all end with the same bits."""
    cases = {(row["n"], row["nccheck"]) for row in rows}
    return [
        f"{n}^2 every {nccheck}: {kind} differ between variants or PEs"
        for n, nccheck in sorted(cases)
        for kind in ("field", "norms")
        if len({row[kind] for row in rows if (row["n"], row["nccheck"]) == (n, nccheck)}) > 1
    ]


def table(rows, sample):
    """Lines: the best of each case against the issue's targets, and efficiency against the fastest run on one PE."""
    lines = [f"{'case':38}{'s':>9}{'at most':>9}{'NVIDIA':>9}{'eff %':>7}  by"]
    for n, nccheck in CASES:
        here = [row for row in rows if (row["n"], row["nccheck"]) == (n, nccheck)]
        for n_pes in sorted({row["pes"] for row in here}):
            for blocked in (False, True):
                mine = [row for row in here if row["pes"] == n_pes and (row["variant"] == "blocked") == blocked]
                base = [row["seconds"] for row in here if row["pes"] == 1 and (row["variant"] == "blocked") == blocked]
                if not mine:
                    continue
                best = min(mine, key=lambda row: row["seconds"])
                theirs = [r["seconds"] for r in sample if (r["n"], r["nccheck"], r["pes"]) == (n, nccheck, n_pes)]
                target = TARGETS.get((n, n_pes, nccheck, blocked))
                efficiency = f"{100 * min(base) / n_pes / best['seconds']:.1f}" if base else ""
                case = f"{n}^2, {n_pes} PEs, every {nccheck}, {'blocked' if blocked else 'plain'}"
                lines.append(
                    f"{case:38}{best['seconds']:9.4f}{target or '':>9}{f'{min(theirs):.4f}' if theirs else '':>9}"
                    f"{efficiency:>7}  {best['variant']}"
                )
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    whole = lambda text: [int(n) for n in text.split(",")]  # noqa: E731
    parser.add_argument("--pes", type=whole, default=[1], metavar="N,N", help="numbers of PEs (1)")
    parser.add_argument("--variants", type=lambda text: text.split(","), metavar="A,B", help="(all that can run)")
    parser.add_argument("--repeat", type=int, default=3, help="timed runs of each, up to a second (%(default)s)")
    parser.add_argument("--launcher", default="mpirun --bind-to none -np {n}", help="what starts n PEs (%(default)s)")
    parser.add_argument("--nvidia", metavar="DIR", help="folder with NVIDIA's sample, built: DIR/mpi/jacobi and so on")
    parser.add_argument("--tune", action="store_true", help="time passes with chunks of several heights, on one GPU")
    parser.add_argument("--output", type=Path, metavar="FILE.json")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        return job(options)
    print(f"kernels compiled in {precompile():.0f} s", flush=True)
    if options.tune:
        return tune()
    rows, sample, facts, refused = [], [], {}, {}
    for n_pes in options.pes:
        with tempfile.TemporaryDirectory() as folder:
            answer = Path(folder) / "job.json"
            arguments = ["--job", str(answer), "--repeat", str(options.repeat)]
            arguments += ["--variants", ",".join(options.variants)] if options.variants else []
            subprocess.run(
                [*shlex.split(options.launcher.format(n=n_pes)), sys.executable, __file__, *arguments], check=True
            )
            said = json.loads(answer.read_text())
        rows, facts, refused = rows + said["rows"], said["facts"], refused | {f"{n_pes} PEs": said["refused"]}
        for n, nccheck in CASES if options.nvidia else ():
            sample += nvidia(options, n_pes, n, nccheck)
    wrong = differing(rows) + [f"{r['variant']} on {r['pes']} PEs" for r in rows if r["wrong"] or not r["near"]]
    print(*table(rows, sample), *(f"WRONG: {one}" for one in sorted(set(wrong))), sep="\n")
    for n_pes, reasons in refused.items():
        print(
            *(f"not run on {n_pes}: {name}, {reason}" for name, reason in reasons.items()),
            sep="\n",
            end="\n" * bool(reasons),
        )
    if options.output:
        text = {
            "facts": facts,
            "iterations": ITERATIONS,
            "wrong": wrong,
            "rows": rows,
            "nvidia": sample,
            "refused": refused,
        }
        options.output.write_text(json.dumps(text, indent=1) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
