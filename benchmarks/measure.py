"""Measure the tables of docs/ again, by name: one job after the other, each of which writes a file of results.

    python3 benchmarks/measure.py allreduce all_gather                            2 GPUs, beside NCCL and PyTorch
    python3 benchmarks/measure.py allreduce --ranks 4
    python3 benchmarks/measure.py halo                                            on CPUs where there is no GPU
    python3 benchmarks/measure.py between-hosts --ranks 4 --launcher "tools/hosts.sh 2 mpirun -np {n}"
    python3 benchmarks/measure.py jacobi sweeps loops --nvidia DIR                beside NVIDIA's samples, built in DIR

If a job fails, its output is printed, the other jobs run, and the status is 1.  Then run benchmarks/tables.py --plots.
"""

import argparse
import json
import re
import shlex
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from launching import OUT_OF_TIME, ROOT, add_options, python, run

AGAINST = "--against nccl,nccl-symmetric,torch-symm-one-shot,torch-symm-two-shot"
SIZES = "-b 1K -e 1G -f 4"
DTYPES = "-d float32,bfloat16,float16,float64,int32 -o sum,max --sizes 64K,1M,16M,64M,256M"
BETWEEN = "--plan --place out --algorithm each --against mpi --sizes 8,1K,16K,64K,256K,1M,4M,16M"


class Command(NamedTuple):
    """A measurement.

    words: what Python runs on each rank; it takes --output FILE.json
    ranks: how many there are, 0 for a program that starts jobs of its own
    """

    words: str
    ranks: int = 2


COMMANDS = {  # the result is NAME-RANKSxDEVICE.json
    "allreduce": Command(f"-m pennympi bench allreduce --plan --symmetric --place out -b 8 -e 1G -f 2 {AGAINST}"),
    "allreduce-bfloat16": Command(
        f"-m pennympi bench allreduce --plan --symmetric --place out -d bfloat16 {SIZES} {AGAINST}"
    ),
    "all_gather": Command(f"-m pennympi bench all_gather --plan --place out {SIZES} {AGAINST}"),
    "reduce_scatter": Command(f"-m pennympi bench reduce_scatter --plan --place out {SIZES} {AGAINST}"),
    "all_gatherv": Command(f"-m pennympi bench all_gatherv --plan --symmetric {SIZES} --against nccl"),
    "reduce_scatterv": Command(f"-m pennympi bench reduce_scatterv --plan --symmetric {SIZES} --against nccl"),
    "all_to_allv": Command(f"-m pennympi bench all_to_allv --plan --symmetric {SIZES} --against nccl"),
    "allreduce-dtypes": Command(f"-m pennympi bench allreduce --plan --symmetric --place out {DTYPES}"),
    "between-hosts": Command(f"-m pennympi bench allreduce {BETWEEN}", 4),
    "comm": Command("benchmarks/comm.py"),
    "osu": Command("benchmarks/osu.py"),
    "halo": Command("benchmarks/halo.py"),
    "jacobi": Command("benchmarks/solvers.py", 0),
    "compilers": Command("benchmarks/compilers.py", 0),
    "sweeps": Command("benchmarks/sweeps.py", 1),
    "loops": Command("benchmarks/loops.py", 1),
}


def measure(name, args, made):
    """Run a job, and move its result to the folder; returns whether it succeeded.  made: the file that it writes"""
    begin_s, command = time.monotonic(), COMMANDS[name]
    ranks, words = args.ranks or command.ranks or 2, [*shlex.split(command.words), "--output", made]
    if command.ranks:
        line = python(args.launcher, ranks, *words)
    else:
        line = python("", ranks, *words, "--ranks", ranks, "--launcher", args.launcher)
    if args.nvidia and name in ("jacobi", "sweeps", "loops"):
        line += ["--nvidia", args.nvidia]
    status, text = run(line, args.limit_s)
    if status != 0 or not made.exists():
        print(f"{name} has {'no end' if status == OUT_OF_TIME else f'status {status}'}:\n{text}", flush=True)
        return False
    model = re.search(r"\b[A-Z]+\d+\b", json.loads(made.read_text())["facts"]["device"])
    to = args.folder / f"{name}-{ranks}x{model[0] if model else 'cpu'}{args.suffix}.json"
    shutil.move(made, to)
    print(f"{to} in {time.monotonic() - begin_s:.0f} s", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", choices=COMMANDS, metavar="NAME", help=f"some of {', '.join(COMMANDS)}")
    add_options(parser, 0, "number of ranks (2; between-hosts 4)")
    parser.add_argument("--folder", type=Path, default=ROOT / "benchmarks" / "results", help="(benchmarks/results)")
    parser.add_argument("--suffix", default="", help="of the file's name, such as -mpich")
    parser.add_argument("--nvidia", default="", metavar="DIR", help="a folder of NVIDIA's samples: see nvidia.py")
    parser.add_argument("--limit-s", type=float, default=600, help="of a job (%(default)g)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pennympi-") as scratch:
        ended = [measure(name, args, Path(scratch).resolve() / f"{name}.json") for name in args.names]
    return 0 if all(ended) else 1


if __name__ == "__main__":
    sys.exit(main())
