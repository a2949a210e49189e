"""All collectives of a machine beside their rivals, one job after the other: the results of docs/measurements.md.

    python3 benchmarks/collectives.py benchmarks/results                                    2 PEs, beside NCCL and PyTorch
    python3 benchmarks/collectives.py FOLDER --pes 4 --only allreduce,reduce --sizes "-b 1K -e 64M -f 4"
    python3 benchmarks/collectives.py FOLDER --against mpi --sizes "-b 8 -e 1M -f 2"        on CPUs

Each job writes FOLDER/NAME-PESxDEVICE.json, over an older one.  What a job says that fails is shown, the others run, and
the status is 1.
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

from launching import python, run

RIVALS = "nccl,nccl-symmetric,torch-symm-one-shot,torch-symm-two-shot"
JOBS = {  # name: arguments of `python -m pennympi bench`, without those that all have
    "allreduce": "allreduce --plan --symmetric",
    "allreduce-bfloat16": "allreduce --plan --symmetric -d bfloat16",
    "allreduce-float16": "allreduce --plan --symmetric -d float16",
    "allreduce-calls": "allreduce",
    "allreduce-sms": "allreduce --plan --symmetric --sms 4,8,16,32,64",
    "allreduce-order": "allreduce --plan --symmetric --order canonical",
    "all_gather": "all_gather --plan",
    "reduce_scatter": "reduce_scatter --plan",
    "broadcast": "broadcast --plan",
    "reduce": "reduce --plan",
    "all_to_all": "all_to_all --plan",
}


def program(name, args):
    """What Python runs on each PE."""
    place = "in" if name == "broadcast" else "out"  # it has no other form
    options = f"{JOBS[name]} {args.sizes} --against {args.against} --floor --place {place} --quiet"
    return ["-m", "pennympi", "bench", *shlex.split(options)]


def file_name(name, pes, made):
    """That of a result.  made: the file that its job wrote"""
    model = re.search(r"\b[A-Z]+\d+\b", json.loads(made.read_text())["facts"]["device"])
    return f"{name}-{pes}x{model[0] if model else 'cpu'}.json"


def measure(name, args, made):
    """Whether a job has ended well; then its result is in the folder.  made: the file that it writes"""
    begin_s = time.monotonic()
    job = python(args.launcher, args.pes, *program(name, args), "--output", made)
    status, said = run(job, args.limit_s, capture=True)
    if status != 0 or not made.exists():
        print(f"{name} has {'no end' if status is None else f'status {status}'}:\n{said}", flush=True)
        return False
    to = args.folder / file_name(name, args.pes, made)
    shutil.move(made, to)
    print(f"{to} in {time.monotonic() - begin_s:.0f} s", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pes", type=int, default=2, help="number of PEs (%(default)s)")
    parser.add_argument("--only", metavar="NAMES", default=",".join(JOBS), help="of %(default)s")
    parser.add_argument("--sizes", default="-b 8 -e 1G -f 2", help="as nccl-tests are told them (%(default)s)")
    parser.add_argument("--against", default=RIVALS, help="the rivals (%(default)s)")
    parser.add_argument("--launcher", default="mpirun -np {n}", help="{n}: the number of PEs (%(default)s)")
    parser.add_argument("--limit-s", type=float, default=300, help="of a job (%(default)g)")
    args = parser.parse_args()
    names = args.only.split(",")
    if unknown := [name for name in names if name not in JOBS]:
        parser.error(f"--only {','.join(unknown)}: give some of {', '.join(JOBS)}")
    with tempfile.TemporaryDirectory(prefix="pennympi-") as scratch:
        ended = [measure(name, args, Path(scratch) / "made.json") for name in names]
    return 0 if all(ended) else 1


if __name__ == "__main__":
    sys.exit(main())
