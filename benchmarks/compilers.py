"""Kernels by both compilers of GPUs, by turns on the same GPUs: AllReduce, or of one rank sweeps and loops.

    python benchmarks/compilers.py --ranks 1 --output compilers.json

Each compiler has TURNS jobs.  Results are compared in the run that times them.  With PENNYMPI_COMPILER set it is one job,
of the rows of one rank by that compiler.
"""

import json
import os
import shlex
import tempfile
from pathlib import Path

import loops
import rows
import sweeps
from launching import add_options, python, run

COMPILERS, TURNS, LIMIT_S = ("numba-cuda", "mlir"), 3, 300
ALLREDUCE = "-m pennympi bench allreduce --plan --symmetric --place out --algorithm each --sizes 8,2K,32K,512K,8M,64M"
KEY = ("what", "n", "size_bytes", "dtype", "norm")


def of_one(team):
    """All rows of the compiler of this job."""
    yield from (row | {"what": f"{row['case']}, {row['engine']}"} for row in sweeps.every(team) if "depth" in row)
    for n in loops.ASKED:
        yield from (row | {"what": row["variant"]} for row in loops.asked(team, n))


def by_turns():
    parser = rows.options(__doc__, nvidia=False)
    add_options(parser, 1)
    given = parser.parse_args()
    facts, us = {}, {}
    words = [__file__] if given.ranks == 1 else shlex.split(ALLREDUCE)
    with tempfile.TemporaryDirectory() as scratch:
        to = Path(scratch) / "one.json"
        for compiler in COMPILERS * TURNS:
            os.environ["PENNYMPI_COMPILER"] = compiler
            status, text = run(python(given.launcher, given.ranks, *words, "--output", to), LIMIT_S)
            if status:
                raise SystemExit(text)
            facts, found = rows.read(to)
            for row in found:
                if given.ranks > 1:
                    row |= {"what": f"AllReduce, {row['implementation']}", "us": row["median_us"]}
                key = json.dumps({name: row[name] for name in KEY if name in row})
                us.setdefault(key, {}).setdefault(compiler, []).append(row["us"])
    rows.write(given.output, facts, [json.loads(key) | {"us": of} for key, of in us.items()])


if __name__ == "__main__":
    if "PENNYMPI_COMPILER" in os.environ:
        rows.main(__doc__, of_one)
    else:
        by_turns()
