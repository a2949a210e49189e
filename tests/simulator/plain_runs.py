"""How many of the planted faults show in plain runs: each program runs many times, on CPUs or GPUs.

PYTHONPATH=support python -m simulator.plain_runs --runs 10000 --output JSON    in tests/: a job of 4 PEs for each fault
"""

import argparse
import json
import sys
from pathlib import Path

import numpy
from launch import launch
from mpi4py import MPI

import pennympi

from . import five_programs
from .planted import FAULTS, with_fault

N_PES = 4


def same(result, right):
    """Whether two results of a program are equal on all PEs."""
    alike = numpy.array_equal(numpy.asarray(result, dtype=object), numpy.asarray(right, dtype=object))
    return MPI.COMM_WORLD.allreduce(alike, MPI.LAND)


def first_wrong(number, runs):
    """Number of the first run of a fault's program with another result, 0 if there is none.  Raises the run's errors."""
    with pennympi.init() as team:
        right = getattr(five_programs, FAULTS[number].program)(team)
        program = with_fault(FAULTS[number])
        return next((k for k in range(1, runs + 1) if not same(program(team), right)), 0)


def shown(number, runs, limit_s):
    """The symptom of a fault in plain runs, "" for none."""
    words = ["-m", "simulator.plain_runs", "--fault", str(number), "--runs", str(runs)]
    folder = str(Path(__file__).resolve().parents[1])
    env = {"PENNYMPI_TIMEOUT_S": "5", "PYTHONPATH": f"{folder}:{folder}/support"}
    end = launch(N_PES, *words, limit_s=limit_s, env=env)
    if end.rc == 0:
        wrong = int(end.output.split("first wrong")[1].split()[0])
        return f"run {wrong} is wrong" if wrong else ""
    return "no end" if end.rc is None else "an error, or PeerTimeout"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--fault", type=int, default=-1, help="run this one here (%(default)s: each in a job)")
    parser.add_argument("--limit-s", type=float, default=120, help="of a job (%(default)g)")
    parser.add_argument("--output", metavar="JSON")
    chosen = parser.parse_args()
    if chosen.fault >= 0:
        wrong = first_wrong(chosen.fault, chosen.runs)
        if MPI.COMM_WORLD.rank == 0:
            print(f"first wrong {wrong}", flush=True)
        return
    rows = []
    for number, fault in enumerate(FAULTS):
        rows.append({"program": fault.program, "kind": fault.kind, "shown": shown(number, chosen.runs, chosen.limit_s)})
        print(json.dumps(rows[-1]), flush=True)
    if chosen.output:
        Path(chosen.output).write_text(json.dumps({"runs": chosen.runs, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
