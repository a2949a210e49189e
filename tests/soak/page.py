"""Write docs/reliability.md from what soak runs wrote: python tests/soak/page.py benchmarks/results/soak-*.json"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = """# Reliability

What the library promises when something fails is in [failures](guides/failures.md). A soak run tries to break it:
minutes of random calls, faults at random moments, and damaged files. A number counts jobs, or results that were compared.

{table}

{runs}

Made by `python tests/soak/page.py` from results of

    python -m pytest --soak MINUTES --soak-out results.json tests/soak

A run prints its seed; `--soak-seed N` makes the same choices again. Every job has a limit, and is checked for processes
that do not end and for files that stay in /dev/shm. A minute of it is part of `make test-all`.
"""


def cell(row):
    """How often a thing was tried, and what failed."""
    if not row:
        return "not run"
    if not row["failures"]:
        return f"{row['times']:,}, all held"
    return f"{row['times']:,}, **{len(row['failures'])} failed**: {row['failures'][0][:300].replace('|', '/')}"


def page(runs):
    """The text of the page.  runs: what the results hold"""
    kinds = {row["tried"]: row["promise"] for run in runs for row in run["rows"]}
    head = ["what is tried", "promise", *(f"{run['mpi']}, {run['minutes']:g} minutes" for run in runs)]
    found = [{row["tried"]: row for row in run["rows"]} for run in runs]
    rows = [[tried, promise, *(cell(one.get(tried)) for one in found)] for tried, promise in kinds.items()]
    lines = [head, ["---"] * len(head), *rows]
    what = ("python", "numpy", "numba", "system", "cores", "commit", "date", "seed")
    machines = [f"- {run['mpi']}: {', '.join(f'{name} {run[name]}' for name in what)}" for run in runs]
    return PAGE.format(table="\n".join(f"| {' | '.join(line)} |" for line in lines), runs="\n".join(machines))


if __name__ == "__main__":
    found = [json.loads(Path(path).read_text()) for path in sys.argv[1:]]
    (ROOT / "docs" / "reliability.md").write_text(page(found))
