"""Measure the tables of docs/ again, by name: one job after the other; each job writes a file of results.

    python3 benchmarks/measure.py allreduce all_gather                            2 GPUs, beside NCCL and PyTorch
    python3 benchmarks/measure.py allreduce --ranks 4
    python3 benchmarks/measure.py halo                                            on CPUs where there is no GPU
    python3 benchmarks/measure.py between-hosts --ranks 4 --launcher "tools/hosts.sh 2 mpirun -np {n}"
    python3 benchmarks/measure.py jacobi sweeps loops --nvidia DIR                beside NVIDIA's samples, built in DIR

If a job fails, its output is printed, the other jobs run, and the status is 1.  Then run benchmarks/tables.py --plots.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
LIMIT_S = 600  # longest time of a job
GRACE_S, OUT_OF_TIME = "10", 124  # time in which a launcher ends its ranks; status of `timeout`
LIBRARIES = "--against nccl,nccl-symmetric,torch-symm-one-shot,torch-symm-two-shot"
SIZES = "-b 1K -e 1G -f 4"
BETWEEN = "--plan --place out --algorithm each --against mpi --sizes 8,1K,16K,64K,256K,1M,4M,16M"


class Command(NamedTuple):
    """A measurement.

    words: command line of Python on each rank; it takes --output FILE.json
    ranks: number of ranks, 0 for a program that starts jobs itself
    """

    words: str
    ranks: int = 2


COMMANDS = {  # the result is NAME-RANKSxDEVICE.json
    "allreduce": Command(f"-m pennympi bench allreduce --plan --symmetric --place out -b 8 -e 1G -f 8 {LIBRARIES}"),
    "allreduce-bfloat16": Command(
        f"-m pennympi bench allreduce --plan --symmetric --place out -d bfloat16 {SIZES} {LIBRARIES}"
    ),
    "all_gather": Command(f"-m pennympi bench all_gather --plan --place out {SIZES} {LIBRARIES}"),
    "reduce_scatter": Command(f"-m pennympi bench reduce_scatter --plan --place out {SIZES} {LIBRARIES}"),
    "all_gatherv": Command(f"-m pennympi bench all_gatherv --plan --symmetric {SIZES} --against nccl"),
    "reduce_scatterv": Command(f"-m pennympi bench reduce_scatterv --plan --symmetric {SIZES} --against nccl"),
    "all_to_allv": Command(f"-m pennympi bench all_to_allv --plan --symmetric {SIZES} --against nccl"),
    "between-hosts": Command(f"-m pennympi bench allreduce {BETWEEN}", 4),
    "halo": Command("benchmarks/halo.py"),
    "jacobi": Command("benchmarks/solvers.py", 0),
    "sweeps": Command("benchmarks/sweeps.py", 1),
    "loops": Command("benchmarks/loops.py", 1),
}


def add_options(parser, ranks, what="(%(default)s)"):
    """Add the options of a script that starts jobs.  what: help of --ranks"""
    parser.add_argument("--ranks", type=int, default=ranks, help=what)
    parser.add_argument("--launcher", default="mpirun -np {n}", help="{n}: the number of ranks (%(default)s)")


def command(launcher, ranks, *words):
    """The command line of ``words`` under ``launcher``, a text in which {n} stands for the number of ranks."""
    return [*shlex.split(launcher.format(n=ranks)), *map(str, words)]


def python(launcher, ranks, *words):
    """The command line of ``words`` for this Python interpreter under ``launcher``."""
    return command(launcher, ranks, sys.executable, *words)


def run(line, limit_s, root=ROOT):
    """Run a command line.  Returns (exit status, OUT_OF_TIME after ``limit_s`` seconds; stdout and stderr).

    root: checkout from which it imports pennympi and apps
    """
    path = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")]))
    env = os.environ | {"PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}
    limited = ["timeout", "--foreground", "-k", GRACE_S, str(limit_s), *map(str, line)]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    ended = subprocess.run(limited, **pipes, text=True, errors="replace", env=env, cwd=root)
    return ended.returncode, ended.stdout


def measure(name, args, output):
    """Run a job, and move its result to the folder.  Returns whether it succeeded.  output: file that the job writes"""
    begin_s, job = time.monotonic(), COMMANDS[name]
    ranks, words = args.ranks or job.ranks or 2, [*shlex.split(job.words), "--output", output]
    if job.ranks:
        line = python(args.launcher, ranks, *words)
    else:
        line = python("", ranks, *words, "--ranks", ranks, "--launcher", args.launcher)
    if args.nvidia and name in ("jacobi", "sweeps", "loops"):
        line += ["--nvidia", args.nvidia]
    status, text = run(line, LIMIT_S)
    if status != 0 or not output.exists():
        print(f"{name} has {'no end' if status == OUT_OF_TIME else f'status {status}'}:\n{text}", flush=True)
        return False
    model = re.search(r"\b[A-Z]+\d+\b", json.loads(output.read_text())["facts"]["device"])
    target = ROOT / "benchmarks" / "results" / f"{name}-{ranks}x{model[0] if model else 'cpu'}{args.suffix}.json"
    shutil.move(output, target)
    print(f"{target} in {time.monotonic() - begin_s:.0f} s", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", choices=COMMANDS, metavar="NAME", help=f"some of {', '.join(COMMANDS)}")
    add_options(parser, 0, "number of ranks (2; between-hosts 4)")
    parser.add_argument("--suffix", default="", help="end of the file's name, such as -mpich")
    parser.add_argument("--nvidia", default="", metavar="DIR", help="a folder of NVIDIA's samples: see nvidia.py")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pennympi-") as scratch:
        ended = [measure(name, args, Path(scratch).resolve() / f"{name}.json") for name in args.names]
    return 0 if all(ended) else 1


if __name__ == "__main__":
    sys.exit(main())
