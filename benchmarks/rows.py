"""Measures rows, and writes them to files for tables.py and plots.py: {"facts": about the machine, "rows": [{...}]}."""

import argparse
import json
import statistics
import time
from pathlib import Path

from mpi4py import MPI

import pennympi
from pennympi.command.bench import facts
from pennympi.files import write_whole

RUNS = 5  # calls that count
RESULTS = Path(__file__).resolve().parent / "results"


def options(doc, nvidia):
    """The parser of a script that measures rows.  nvidia: whether it measures NVIDIA's samples, too"""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", required=True, metavar="JSON")
    if nvidia:
        parser.add_argument("--nvidia", default="", metavar="DIR", help="a folder of NVIDIA's samples: see nvidia.py")
    return parser


def main(doc, measure, nvidias=None):
    """Measure rows on all ranks and write them.  measure(team), nvidias(folder of NVIDIA's samples): return rows"""
    args = options(doc, nvidias is not None).parse_args()
    with pennympi.init() as team:
        about, me = facts(team, []), team.me
        measured = list(measure(team))
    if me == 0:
        theirs = nvidias(args.nvidia) if nvidias and args.nvidia else ()
        write(args.output, about, [*measured, *theirs])


def timed(team, call, before=lambda: None):
    """(median seconds of a call on the slowest PE, without ``before``; result of the last call).  Collective.

    The first call is not counted, since it loads kernels.
    """
    times = []
    for _ in range(RUNS + 1):
        before()
        team.synchronize()
        team.comm.Barrier()
        start_s = time.perf_counter()
        result = call()
        team.synchronize()
        times.append(team.comm.allreduce(time.perf_counter() - start_s, op=MPI.MAX))
    return statistics.median(times[1:]), result


def write(path, facts, rows):
    """Write rows, and print them."""
    lines = [json.dumps(row) for row in rows]
    head = json.dumps({"facts": facts}, indent=1)[:-2]
    write_whole(Path(path), head + ',\n "rows": [\n  ' + ",\n  ".join(lines) + "\n ]\n}\n")
    print("\n".join(lines), flush=True)


def read(path):
    """(facts, rows) of a file."""
    data = json.loads(path.read_text())
    return data["facts"], data["rows"]


def newest(name, holds=""):
    """{number of GPUs: newest result of a command}, in ascending order.  holds: text that the result must contain"""
    path_of = {}
    for path in sorted(RESULTS.glob(f"{name}-[0-9]x[A-Z]*.json"), key=_date):
        if holds in path.read_text():
            path_of[int(path.name.removeprefix(f"{name}-")[0])] = path
    return dict(sorted(path_of.items()))


def _date(path):
    return json.loads(path.read_text())["facts"].get("date", "")
