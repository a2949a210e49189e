"""Verify and time every variant of the solver on several numbers of PEs, and NVIDIA's samples where they are built.

    python3 benchmarks/jacobi.py --pes 1,2,4 --output benchmarks/results/jacobi-4xH200.json
    python3 benchmarks/jacobi.py --pes 1,2,4 --output FILE.json --nvidia DIR --limit-s 540 --resume
    python3 benchmarks/jacobi.py --pes 4,2,1 --output FILE.json --restart-check
    CUDA_VISIBLE_DEVICES=2 python3 benchmarks/jacobi.py --pes 1 --output one.json & ... --pes 4 --add one.json
    python3 benchmarks/jacobi.py --backend host --pes 1,2 --cases 300:1,300:100 --iterations 200

Run it without mpirun: it starts one job for each number of PEs.  A job solves a small problem of odd size by each variant
and compares the bits with NumPy's; then it times the cases.  All runs of a problem must end with the same bits of the
field and of the norms, on any number of PEs.  The time of a run is the slowest PE's, and the best of a few runs counts.
All kernels are compiled beforehand, in parallel.  If a variant fails, the job is started again with the variants after
it.  The file is written after every job, and --resume measures the rows that are missing in it.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import jacobi_results  # noqa: E402
import nvidia_sample  # noqa: E402
import restart_check  # noqa: E402
from jacobi_results import best, select  # noqa: E402
from launching import python, run  # noqa: E402

ITERATIONS = 1000
CASES = [(16384, 1), (16384, 100), (4096, 100)]  # (n, nccheck) of grids of n x n
SMALL = (1003, 517, 40)  # nx, ny, sweeps of the problem that is compared with NumPy
SMALL_CHECKS = (1, 12)  # its values of nccheck: passes that compute all norms, and the last one only
# The most interesting variants come first, in case the time does not suffice for all.
ORDER = (
    "blocked", "single", "graph", "device", "persistent", "nvshmem_overlap", "nvshmem", "nccl_overlap", "nccl",
    "mpi_overlap", "mpi",
)  # fmt: skip
# The target in s: (n, PEs, nccheck, temporal blocking)
TARGETS = {
    (16384, 1, 1, False): 0.60, (16384, 1, 100, False): 0.53, (16384, 1, 100, True): 0.110, (16384, 1, 1, True): 0.22,
    (16384, 4, 1, False): 0.16, (16384, 4, 100, False): 0.14, (16384, 4, 100, True): 0.031, (16384, 4, 1, True): 0.060,
    (4096, 4, 100, True): 0.006,
}  # fmt: skip
ENDING_S = 45.0  # how long a job may run beyond the limit to finish its case


def all_cases(options):
    """The cases of the options, and the first grid with one norm in the whole run, which shows what norms cost."""
    return list(dict.fromkeys([*options.cases, (options.cases[0][0], options.iterations)]))


def facts(options):
    """Date, commit and versions, which are the same for all jobs."""

    def said(*line):
        try:
            return subprocess.run(line, capture_output=True, text=True, timeout=20, cwd=ROOT).stdout.strip()
        except (OSError, subprocess.SubprocessError):
            return ""

    found = {
        "date": time.strftime("%Y-%m-%d"),
        "command": "python3 benchmarks/jacobi.py " + " ".join(sys.argv[1:]),
        "commit": said("git", "rev-parse", "HEAD"),
        "driver": said("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader").replace("\n", "; "),
        "links": said("nvidia-smi", "topo", "-m"),
        "nvcc": said("nvcc", "--version").rpartition("\n")[2] if options.nvidia else "",
    }
    return {key: value for key, value in found.items() if value}


class Bench:
    """Runs all jobs, one after the other, within the time limit."""

    def __init__(self, options, results):
        self.options, self.results = options, results
        self.until = time.time() + options.limit_s if options.limit_s else float("inf")

    def left_s(self, at_most):
        """Seconds until a process that starts now must have ended."""
        return min(at_most, self.until + ENDING_S - time.time())

    def late(self):
        """Whether the time is over, so that nothing more may begin."""
        return time.time() > self.until

    def leave_out(self, what):
        """Record what was left out, once."""
        if what not in self.results["left_out"]:
            self.results["left_out"].append(what)

    def save(self):
        """Write the results so far."""
        jacobi_results.write(self.results, self.options.output)

    def ours(self, n_pes):
        """Run our variants on n_pes PEs."""
        done = {(row["variant"], *jacobi_results.case_of(row)) for row in select(self.results["rows"], pes=n_pes)}
        todo = {
            name: [case for case in all_cases(self.options) if (name, *case) not in done]
            for name in self.options.variants
            if name not in self.results["refused"].get(str(n_pes), {})
        }
        todo = {name: cases for name, cases in todo.items() if cases}
        while todo and not self.late():
            status, answer = self.job(n_pes, todo)
            self.take(n_pes, answer)
            failed = answer["now"] or (status != 0 and "the job's end")
            if failed:
                how = "it took too long" if status is None else f"status {status}"
                self.results["failed"].setdefault(str(n_pes), {})[failed] = how
                print(f"{failed} on {n_pes} PEs FAILED: {how}", flush=True)
            names = list(todo)
            todo = {name: todo[name] for name in names[names.index(failed) + 1 :]} if failed in names else {}
            self.save()
        for name, cases in todo.items():
            for n, nccheck in cases:
                self.leave_out(f"{name} on {n_pes} PEs, {n}^2 every {nccheck}")

    def job(self, n_pes, todo):
        """(status, answer) of one job; the answer has no rows if the job wrote none."""
        options = self.options
        with tempfile.TemporaryDirectory() as folder:
            path, answer = Path(folder) / "request.json", Path(folder) / "answer.json"
            request = {
                "cases": all_cases(options), "todo": todo, "iterations": options.iterations, "repeat": options.repeat,
                "backend": options.backend, "small": SMALL, "small_checks": SMALL_CHECKS,
                "until": min(self.until, 1e12), "answer": str(answer),
            }  # fmt: skip
            path.write_text(json.dumps(request))
            line = python(options.launcher, n_pes, Path(__file__).with_name("jacobi_job.py"), path)
            status, _ = run(line, self.left_s(3600))
            if answer.exists():
                return status, json.loads(answer.read_text())
        return status, {"job": {}, "rows": [], "refused": {}, "left_out": [], "now": "the job's start"}

    def take(self, n_pes, answer):
        """Add the answer of a job to the results."""
        key = str(n_pes)
        self.results["jobs"][key] = answer["job"] or self.results["jobs"].get(key, {})
        self.results["rows"] += answer["rows"]
        self.results["refused"].setdefault(key, {}).update(answer["refused"])
        for row in answer["rows"]:
            self.results["failed"].get(key, {}).pop(row["variant"], None)
        for name, n, nccheck in answer["left_out"]:
            self.leave_out(f"{name} on {n_pes} PEs, {n}^2 every {nccheck}")

    def nvidia(self, n_pes):
        """Run NVIDIA's samples on n_pes PEs."""
        options, key = self.options, str(n_pes)
        for n, nccheck in options.cases:
            for one in nvidia_sample.programs(options.nvidia, n_pes, nccheck):
                name, where = f"NVIDIA {one[0]}", f"{n_pes} PEs  {n}^2  every {nccheck}"
                if select(self.results["nvidia"], variant=name, pes=n_pes, n=n, nccheck=nccheck):
                    continue
                if self.late():
                    self.leave_out(f"{name} on {n_pes} PEs, {n}^2 every {nccheck}")
                    continue
                try:
                    rows = nvidia_sample.rows(
                        options.launcher, one, n_pes, n, nccheck, options.iterations, options.nvidia_repeat
                    )
                except (ValueError, OSError) as error:
                    self.results["failed"].setdefault(key, {})[name] = str(error)
                    print(f"{name:38} {where:26} FAILED: {error}", flush=True)
                    continue
                self.results["failed"].get(key, {}).pop(name, None)
                for row in rows:
                    row["variant"] = f"NVIDIA {row['variant']}"
                    self.results["nvidia"].append(row)
                    print(f"{row['variant']:38} {where:26} {row['seconds']:.4f} s", flush=True)
                self.save()


def table(results):
    """Lines with the best run of each case, its target, NVIDIA's best, and the efficiency against one PE."""
    lines = [f"{'case':40}{'s':>9}{'target':>9}{'NVIDIA':>9}{'eff %':>7}{'alike %':>8}  by"]
    cases = sorted({(*jacobi_results.case_of(row), row["pes"]) for row in results["rows"]}, reverse=True)
    for n, nccheck, pes in cases:
        for blocked in (False, True):
            mine = best(select(results["rows"], n=n, nccheck=nccheck, pes=pes, blocked=blocked))
            if not mine:
                continue
            theirs = best(select(results["nvidia"], n=n, nccheck=nccheck, pes=pes))
            case = f"{n}^2, {pes} PEs, every {nccheck}, {'blocked' if blocked else 'plain'}"
            target, nvidia = TARGETS.get((n, pes, nccheck, blocked), ""), f"{theirs['seconds']:.4f}" if theirs else ""
            shares = [f"{mine[name]:.1f}" if mine[name] else "" for name in ("efficiency", "efficiency_alike")]
            line = f"{case:40}{mine['seconds']:9.4f}{target:>9}{nvidia:>9}{shares[0]:>7}{shares[1]:>8}"
            lines.append(f"{line}  {mine['variant']}")
    return lines


def remarks(results):
    """Lines on what norms cost, on what was not run, and on what is wrong."""
    lines = []
    for one in results["norm_cost"]:
        more = one["allreduce_percent"]
        added = "" if more is None else f", of which {more:.1f} % for the sum over the PEs"
        where = f"{one['variant']} on {one['pes']} PEs, {one['n']}^2"
        lines.append(f"a norm every sweep costs {where} {one['percent']:.1f} % of the run{added}")
    for word in ("refused", "failed"):
        lines += [f"{word} on {pes} PEs: {a}, {b}" for pes, some in results[word].items() for a, b in some.items()]
    lines += [f"no time for {one}" for one in results["left_out"]]
    return lines + [f"WRONG: {one}" for one in results["wrong"]]


def whole_numbers(text):
    """The type of N,N,..."""
    return [int(n) for n in text.split(",")]


def cases_of(text):
    """The type of N:NCCHECK,N:NCCHECK,..."""
    return [tuple(map(int, one.split(":"))) for one in text.split(",")]


def parse():
    """(parser, options) of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)

    def add(name, text, **kind):
        parser.add_argument(name, help=text, **kind)

    add("--pes", "numbers of PEs (1)", type=whole_numbers, default=[1], metavar="N,N")
    add("--variants", "variants to run (all)", type=lambda text: text.split(","), default=ORDER, metavar="A,B")
    add("--cases", "grids of N x N points, and their nccheck", type=cases_of, default=CASES, metavar="N:NCCHECK,...")
    add("--iterations", "sweeps of each run (%(default)s)", type=int, default=ITERATIONS)
    add("--repeat", "largest number of timed runs of each case (%(default)s)", type=int, default=5)
    add("--backend", "where to run (%(default)s)", choices=("cuda", "host"), default="cuda")
    add("--launcher", "command that starts {n} PEs (%(default)s)", default="mpirun --bind-to none -np {n}")
    add("--nvidia", "folder of NVIDIA's built samples: DIR/mpi/jacobi and so on", metavar="DIR")
    add("--nvidia-repeat", "runs of each sample (%(default)s)", type=int, default=1)
    add("--limit-s", "begin nothing more after this many seconds", type=float)
    add("--output", "file of results", type=Path, metavar="FILE.json")
    text = "files with results of other numbers of PEs, measured at the same time on other GPUs, to add"
    add("--add", text, type=Path, nargs="*", default=[], metavar="FILE.json")
    add("--resume", "keep the results in --output and measure what is missing", action="store_true")
    text = "do only this: kill a checkpointed run on the first of --pes, go on with the others, and compare the bits"
    add("--restart-check", text, action="store_true")
    options = parser.parse_args()
    strange = [name for name in options.variants if name not in ORDER]
    if strange:
        parser.error(f"there is no variant {', '.join(strange)}: use some of {', '.join(ORDER)}")
    if options.restart_check and len(options.pes) < 2:
        parser.error("--restart-check needs two numbers of PEs or more: --pes 4,2,1")
    return parser, options


def main():
    parser, options = parse()
    goes_on = options.output and options.output.exists() and (options.resume or options.restart_check)
    results = jacobi_results.read(options.output) if goes_on else jacobi_results.empty(options.iterations)
    if results["iterations"] != options.iterations:
        parser.error(f"{options.output} holds runs of {results['iterations']} iterations, not {options.iterations}")
    for path in options.add:
        jacobi_results.add(results, jacobi_results.read(path))
    if options.restart_check:
        request = (options.launcher, options.pes, options.cases[-1][0], options.variants[0], options.backend)
        try:
            results["restart"] = restart_check.check(*request)
        except RuntimeError as error:
            print(f"the restart check failed: {error}", file=sys.stderr)
            return 1
        jacobi_results.write(results, options.output)
        return 0 if results["restart"]["same"] else 1
    results["facts"], results["left_out"] = facts(options), []
    bench = Bench(options, results)
    if options.backend == "cuda":
        problems = [[n, options.iterations, nccheck] for n, nccheck in all_cases(options)]
        problems += [[SMALL[0], SMALL[2], nccheck] for nccheck in SMALL_CHECKS]
        run([sys.executable, Path(__file__).with_name("jacobi_kernels.py"), json.dumps(problems)], bench.left_s(3600))
    for n_pes in options.pes:
        bench.ours(n_pes)
        if options.nvidia:
            bench.nvidia(n_pes)
    bench.save()
    print(*table(results), *remarks(results), sep="\n")
    return 1 if results["wrong"] or any(results["failed"].values()) else 0


if __name__ == "__main__":
    sys.exit(main())
