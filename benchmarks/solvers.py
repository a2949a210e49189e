"""The solver by its command line: every variant on several numbers of PEs, and NVIDIA's samples.

    python benchmarks/solvers.py --ranks 2 --output jacobi.json [--nvidia DIR]     DIR: see nvidia.py

The script starts one job after the other, on one PE and on --ranks PEs.  A run's time is that
of the slowest PE, which the program prints; the best of RUNS runs counts.
"""

import platform
import re
import time

import nvidia
import rows
from measure import add_options, command, python, run

import pennympi
from apps.jacobi.variants import TABLE
from pennympi.bench.setup import on_host

ITERATIONS, RUNS, LIMIT_S = 1000, 2, 120.0
CASES = [(16384, 1), (16384, 100), (16384, ITERATIONS), (4096, 100)]  # (n, nccheck) of n x n points
DEVICE = re.compile(r"^device +(?:\d+ x )?(.*?)(?:, \d+ cores)?$", re.MULTILINE)


def jacobi(args, pes):
    """Yield rows of the solver.  A variant that can't run here is named and left out."""
    for n, nccheck in [(256, 1)] if on_host() else CASES:
        words = ["--nx", n, "--ny", n, "--niter", ITERATIONS, "--nccheck", nccheck]
        ours = ["-m", "apps.jacobi", "--no-serial", "--tol", 0, "--csv", *words]
        jobs = {name: python(args.launcher, pes, *ours, "--variant", name) for name in TABLE}
        for name, program, options in nvidia.jacobi(args.nvidia, pes, nccheck) if args.nvidia else ():
            line = [program, "-csv", *(str(word).replace("--", "-") for word in words), *options]
            jobs[name] = line if "single_gpu" in name else command(args.launcher, pes, *line)
        for name, line in jobs.items():
            try:
                seconds = [nvidia.csv_seconds(run(line, LIMIT_S)[1], n) for _ in range(RUNS)]
                yield {"variant": name, "pes": pes, "n": n, "nccheck": nccheck, "seconds": min(seconds), "runs": seconds}
            except ValueError as error:
                print(f"{name} on {pes} PEs, {n}^2: {error}", flush=True)


def main():
    parser = rows.options(__doc__, nvidia=True)
    add_options(parser, 2)
    args = parser.parse_args()
    _, text = run(python(args.launcher, args.ranks, "-m", "pennympi"), LIMIT_S)
    facts = {"PEs": args.ranks, "pennympi": pennympi.__version__, "Python": platform.python_version()}
    facts |= {"device": DEVICE.search(text)[1], "date": time.strftime("%Y-%m-%d"), "report": text.splitlines()}
    measured = [row for pes in dict.fromkeys((1, args.ranks)) for row in jacobi(args, pes)]
    rows.write(args.output, facts, measured)


if __name__ == "__main__":
    main()
