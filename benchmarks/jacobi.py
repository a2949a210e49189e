"""Every variant of the solver, verified and timed on 1 to N PEs, beside NVIDIA's samples where they are built.

    python3 benchmarks/jacobi.py --pes 1,2,4 --output benchmarks/results/jacobi-4xH200.json
    python3 benchmarks/jacobi.py --pes 1,2,4 --output FILE.json --nvidia DIR --limit-s 540 --resume
    python3 benchmarks/jacobi.py --pes 4,2,1 --output FILE.json --restart-check
    CUDA_VISIBLE_DEVICES=2 python3 benchmarks/jacobi.py --pes 1 --output one.json & ... --pes 4 --add one.json
    python3 benchmarks/jacobi.py --backend host --pes 1,2 --cases 300:1,300:100 --iterations 200

Run it without mpirun: it starts one job for each number of PEs.  A job solves a small odd problem by every variant and
compares it with NumPy, bit for bit; then it times the cases.  Each run must end with the field and the norms, to the
last bit, of all other runs of its problem, on any number of PEs.  The time is the slowest PE's, the best of a few runs.
All kernels are compiled beforehand, side by side.  A variant that fails costs its own rows alone: the job is started
again with those after it.  The file is written after every job; --resume measures what it does not hold yet.
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
SMALL = (1003, 517, 40)  # nx, ny, sweeps of the problem that NumPy solves too
SMALL_CHECKS = (1, 12)  # its nccheck: passes with all norms, and with the last one
# What tells most comes first, should the time not be enough for all.
ORDER = (
    "blocked", "single", "graph", "device", "persistent", "nvshmem_overlap", "nvshmem", "nccl_overlap", "nccl",
    "mpi_overlap", "mpi",
)  # fmt: skip
# Seconds at most: (n, PEs, nccheck, temporal blocking)
TARGETS = {
    (16384, 1, 1, False): 0.60, (16384, 1, 100, False): 0.53, (16384, 1, 100, True): 0.110, (16384, 1, 1, True): 0.22,
    (16384, 4, 1, False): 0.16, (16384, 4, 100, False): 0.14, (16384, 4, 100, True): 0.031, (16384, 4, 1, True): 0.060,
    (4096, 4, 100, True): 0.006,
}  # fmt: skip
ENDING_S = 45.0  # that a job may take after the limit, for what it is at


def all_cases(options):
    """Those that are asked for, and the first grid with one norm in the whole run: what norms cost is told by it."""
    return list(dict.fromkeys([*options.cases, (options.cases[0][0], options.iterations)]))


def facts(options):
    """What does not depend on the job."""

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
    """All jobs, one after the other, within the limit."""

    def __init__(self, options, results):
        self.options, self.results = options, results
        self.until = time.time() + options.limit_s if options.limit_s else float("inf")

    def left_s(self, at_most):
        """Seconds until what runs now must have ended."""
        return min(at_most, self.until + ENDING_S - time.time())

    def late(self):
        """Whether nothing more is to be begun."""
        return time.time() > self.until

    def leave_out(self, what):
        """Note it, once."""
        if what not in self.results["left_out"]:
            self.results["left_out"].append(what)

    def save(self):
        """The file as it is now."""
        jacobi_results.write(self.results, self.options.output)

    def ours(self, n_pes):
        """Our variants on so many PEs."""
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
        """(status, answer) of one job; an answer without rows when it did not get far enough to give one."""
        options = self.options
        with tempfile.TemporaryDirectory() as folder:
            request, answer = Path(folder) / "request.json", Path(folder) / "answer.json"
            request = {
                "cases": all_cases(options), "todo": todo, "iterations": options.iterations, "repeat": options.repeat,
                "backend": options.backend, "small": SMALL, "small_checks": SMALL_CHECKS,
                "until": min(self.until, 1e12), "answer": str(answer),
            }  # fmt: skip
            request.write_text(json.dumps(request))
            status, _ = run(
                python(options.launcher, n_pes, Path(__file__).with_name("jacobi_job.py"), request), self.left_s(3600)
            )
            if answer.exists():
                return status, json.loads(answer.read_text())
        return status, {"job": {}, "rows": [], "refused": {}, "left_out": [], "now": "the job's start"}

    def take(self, n_pes, answer):
        """What a job found."""
        key = str(n_pes)
        self.results["jobs"][key] = answer["job"] or self.results["jobs"].get(key, {})
        self.results["rows"] += answer["rows"]
        self.results["refused"].setdefault(key, {}).update(answer["refused"])
        for row in answer["rows"]:
            self.results["failed"].get(key, {}).pop(row["variant"], None)
        for name, n, nccheck in answer["left_out"]:
            self.leave_out(f"{name} on {n_pes} PEs, {n}^2 every {nccheck}")

    def nvidia(self, n_pes):
        """NVIDIA's samples on so many PEs."""
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
    """Lines: the best of each case, what it may take at most, NVIDIA's best, efficiency against one PE."""
    lines = [f"{'case':40}{'s':>9}{'at most':>9}{'NVIDIA':>9}{'eff %':>7}{'alike %':>8}  by"]
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
    """Lines: what norms cost, what was not run, and what is wrong."""
    lines = []
    for one in results["norm_cost"]:
        more = one["allreduce_percent"]
        added = "" if more is None else f", {more:.1f} % of it for adding up over PEs"
        where = f"{one['variant']} on {one['pes']} PEs, {one['n']}^2"
        lines.append(f"a norm every sweep costs {where} {one['percent']:.1f} % of the run{added}")
    for word in ("refused", "failed"):
        lines += [f"{word} on {pes} PEs: {a}, {b}" for pes, some in results[word].items() for a, b in some.items()]
    lines += [f"no time for {one}" for one in results["left_out"]]
    return lines + [f"WRONG: {one}" for one in results["wrong"]]


def cases_of(text):
    """N:NCCHECK,N:NCCHECK"""
    return [tuple(map(int, one.split(":"))) for one in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    whole = lambda text: [int(n) for n in text.split(",")]  # noqa: E731
    parser.add_argument("--pes", type=whole, default=[1], metavar="N,N", help="numbers of PEs (1)")
    parser.add_argument("--variants", type=lambda text: text.split(","), default=ORDER, metavar="A,B", help="(all)")
    parser.add_argument("--cases", type=cases_of, default=CASES, metavar="N:NCCHECK,...", help="grids of N x N")
    parser.add_argument("--iterations", type=int, default=ITERATIONS, help="sweeps of a run (%(default)s)")
    parser.add_argument("--repeat", type=int, default=5, help="timed runs of each, up to a second (%(default)s)")
    parser.add_argument("--backend", choices=("cuda", "host"), default="cuda", help="(%(default)s)")
    parser.add_argument("--launcher", default="mpirun --bind-to none -np {n}", help="what starts n PEs (%(default)s)")
    parser.add_argument("--nvidia", metavar="DIR", help="folder with NVIDIA's samples, built: DIR/mpi/jacobi and so on")
    parser.add_argument("--nvidia-repeat", type=int, default=1, help="runs of each sample (%(default)s)")
    parser.add_argument("--limit-s", type=float, help="begin nothing more after so many seconds")
    parser.add_argument("--output", type=Path, metavar="FILE.json")
    text = "results of other numbers of PEs, measured at the same time on other GPUs, that become part of these"
    parser.add_argument("--add", type=Path, nargs="*", default=[], metavar="FILE.json", help=text)
    parser.add_argument("--resume", action="store_true", help="go on with the results in --output")
    text = "only this: kill a checkpointed run on the first of --pes, go on with the others, compare the bits"
    parser.add_argument("--restart-check", action="store_true", help=text)
    options = parser.parse_args()
    strange = [name for name in options.variants if name not in ORDER]
    if strange:
        parser.error(f"there is no variant {', '.join(strange)}: use some of {', '.join(ORDER)}")
    if options.restart_check and len(options.pes) < 2:
        parser.error("--restart-check needs two numbers of PEs or more: --pes 4,2,1")
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
            print(f"the restart check failed {error}", file=sys.stderr)
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
