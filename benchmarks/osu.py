"""mpi4py's OSU benchmarks, unchanged, with ``pennympi.Comm`` beside mpi4py alone: by turns in one job.

    mpirun -np 2 python benchmarks/osu.py --output osu.json

The programs are demo/osu_*.py of mpi4py's source distribution.  Each runs as `python -m pennympi run` runs it.  A time is
what the program prints of rank 0, times the share of the slowest rank: us of a call or a message, the median of runs.
On a GPU they also run with CuPy's memory, in place of the one that they take from the module mmap.
"""

import contextlib
import io
import runpy
import statistics
import sys
import tempfile
import types
from pathlib import Path

import mpi4py_source
import rows
from mpi4py import MPI

import pennympi

RUNS, WORLD = 5, MPI.COMM_WORLD
BANDWIDTHS, LEAST_MB_S = ("osu_bw", "osu_bibw"), 0.005  # they print MB/s with two digits, 0.00 for less


def run(program):
    """{size: us} of a program with MPI.COMM_WORLD as it is now; empty if it does not take this number of ranks."""
    wall_time, clock, printed = MPI.Wtime, [], io.StringIO()
    MPI.Wtime = lambda: clock.append(wall_time()) or clock[-1]
    try:
        with contextlib.redirect_stdout(printed):
            runpy.run_path(str(program), run_name="__main__")
    except SystemExit:
        return {}
    finally:
        MPI.Wtime = wall_time
    intervals = [end - start for start, end in zip(clock[::2], clock[1::2], strict=True)]
    mine, *others = WORLD.bcast(WORLD.gather(intervals))
    share = [max(ranks) / ranks[0] for ranks in zip(mine, *(one for one in others if one), strict=True)]
    lines = [line.split() for line in printed.getvalue().splitlines() if not line.startswith("#")]
    us = (lambda size, mb_s: size / max(mb_s, LEAST_MB_S)) if program.stem in BANDWIDTHS else lambda size, us: us
    found = {int(size): us(int(size), float(one)) for size, one in lines}
    return {size: us * times for (size, us), times in zip(found.items(), share, strict=False)}


def every(team):
    """All rows.  Collective."""
    comm = pennympi.Comm(WORLD)
    ways = {"mpi4py": (WORLD, sys.modules["mmap"]), "pennympi": (comm, sys.modules["mmap"])}
    if team.backend == "cuda":
        import cupy

        ways["pennympi, CuPy"] = comm, types.SimpleNamespace(mmap=lambda _, nbytes: cupy.zeros(nbytes, "B"))
    with tempfile.TemporaryDirectory() as scratch:
        folder = WORLD.bcast(mpi4py_source.unpacked(Path(scratch)) if team.me == 0 else None)
        for program in sorted((folder / "demo").glob("osu_*.py")):
            found = {}
            for _ in range(RUNS):
                for way, (MPI.COMM_WORLD, sys.modules["mmap"]) in ways.items():
                    for size, us in run(program).items():
                        found.setdefault((way, size), []).append(us)
            MPI.COMM_WORLD = WORLD
            for (way, size), us in found.items():
                yield {"program": program.stem, "way": way, "size": size, "us": round(statistics.median(us), 3)}


if __name__ == "__main__":
    rows.main(__doc__, every)
