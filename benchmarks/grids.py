"""Halos, heat, conjugate gradients and collectives by counts, beside other libraries in the same job:

mpirun -np 2 python3 benchmarks/grids.py benchmarks/results/grids-2xH200.json       and -np 1, into the same file
    --only floor,halo,face,loop,heat,cg,counts        some of the parts
    --limit-s 20                           of a part, else those of PARTS: what would begin later is left out and named

A row is printed when it is measured, and the file is written after each part, beside what it has of other numbers of PEs.
Times are us of the slowest PE, the median of bursts.  Without GPUs the sizes are small: that only tries the script.
"""

import argparse
import json
import platform
import sys
import time
from pathlib import Path

from mpi4py import MPI

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import grids_counts  # noqa: E402
import grids_floor  # noqa: E402
import grids_halo  # noqa: E402
import grids_loop  # noqa: E402
import grids_solvers  # noqa: E402

import pennympi  # noqa: E402
from pennympi.bench.rivals.mpi import Mpi  # noqa: E402
from pennympi.files import write_whole  # noqa: E402

PARTS = {  # and their limits in seconds
    "floor": (grids_floor.floors, 10.0),
    "halo": (grids_halo.every_face, 15.0),
    "face": (grids_halo.one_face, 5.0),
    "loop": (grids_loop.loops, 5.0),
    "heat": (grids_solvers.heat, 25.0),
    "cg": (grids_solvers.conjugate_gradients, 40.0),
    "counts": (grids_counts.by_counts, 25.0),
}


def facts(team):
    """The machine and the libraries."""
    found = {"PEs": team.n_pes, "pennympi": pennympi.__version__, "backend": team.backend, "device": team.device_name}
    found |= dict(team.describe()) | {"mpi": Mpi(team).version, "Python": platform.python_version()}
    if team.backend == "cuda":
        try:
            import nccl.core

            found["NCCL"] = str(nccl.core.get_version().libnccl.version)
        except ImportError:
            found["NCCL"] = "not installed"
    return found | {"date": time.strftime("%Y-%m-%d")}


def measured(team, part, limit_s):
    """{"rows", "seconds", "left_out"} of a part: its cases one after another while there is time.  Collective."""
    rows, left_out, start_s = [], [], time.perf_counter()
    for case, make in part(team):
        if team.comm.bcast(time.perf_counter() - start_s) > limit_s:
            left_out.append(case)
            continue
        for row in make():
            rows.append(row)
            if team.me == 0:
                print(json.dumps(row), flush=True)
    return {"rows": rows, "seconds": round(time.perf_counter() - start_s, 1), "left_out": left_out}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(PARTS))
    parser.add_argument("--limit-s", type=float)
    given, comm = parser.parse_args(), MPI.COMM_WORLD
    with pennympi.init(comm) as team:
        about = facts(team)
        if team.me == 0:
            print(json.dumps(about), flush=True)
        for name in given.only:
            if team.n_pes == 1 and name in ("face", "counts"):
                continue
            part, limit_s = PARTS[name]
            found = measured(team, part, given.limit_s or limit_s)
            if team.me == 0:
                print(f"{name}: {found['seconds']} s, left out: {', '.join(found['left_out']) or 'nothing'}", flush=True)
                whole = json.loads(given.output.read_text()) if given.output.exists() else {}
                runs = whole.setdefault(str(team.n_pes), {"facts": about, "parts": {}})
                runs["facts"] = about
                runs["parts"][name] = found
                write_whole(given.output, (json.dumps(whole, indent=1) + "\n"))


if __name__ == "__main__":
    main()
