"""Run the reliability scorecard, and write docs/reliability.md from its results.

    python tools/scorecard.py --out results.json                                  all rows, with this Python's MPI
    python tools/scorecard.py --mpi mpich=A/bin --mpi openmpi=B/bin --out r.json  with the MPIs of two environments
    python tools/scorecard.py --rows 1,10-14 --minutes 5 --out some.json          some rows, cut to five minutes
    python tools/scorecard.py --gpu --minutes 6 --out gpus.json                   the rows of GPUs, on all that are here
    python tools/scorecard.py --write docs/reliability.md results.json gpus.json  the page

The file is written after each row; --continue goes on with one that was interrupted, where it stopped.  The status is 0
when every row held.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from reliability.case import Case, Row, tally
from reliability.page import page
from reliability.stage import ROOT, Mpi, Stage
from reliability.table import ROWS, chosen

VERSIONS = (
    "import json, importlib.metadata as m; print(json.dumps({n: m.version(n) for n in ('numpy', 'numba', 'mpi4py')}))"
)


# On GPUs, where time is short, in this order.
IMPORTANT = "13,12,10,11,16,20,1,9,6,2,8,19,32,17,15,18,7".split(",")
LEAST_S = 12.0  # what a row may take at least, however little time there is


def seconds_of(row: Row, gpu: bool) -> float:
    """What a whole run of the row takes; 0 where it makes no sense."""
    return row.gpu_s if gpu else row.seconds


def facts(mpi: Mpi, n_gpus: int) -> dict[str, str]:
    """What a run depends on: MPI, devices, versions, commit, date."""
    said = subprocess.run([mpi.python, "-c", VERSIONS], capture_output=True, text=True)
    versions = json.loads(said.stdout) if said.returncode == 0 else {}
    git = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    python = subprocess.run([mpi.python, "-V"], capture_output=True, text=True).stdout.split()
    return {
        "MPI": mpi.version,
        "devices": devices(n_gpus),
        "Python": python[-1] if python else "",
        **versions,
        "kernel": platform.release().split("-")[0],
        "cores": str(os.cpu_count()),
        "commit": git.stdout.strip() or "unknown",
        "date": time.strftime("%Y-%m-%d"),
    }


def devices(n_gpus: int) -> str:
    """ "CPUs", or "2 x NVIDIA H200" """
    if not n_gpus:
        return "CPUs"
    said = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True)
    return f"{n_gpus} x {said.stdout.splitlines()[0].strip() if said.stdout else 'GPU'}"


def count_gpus() -> int:
    """GPUs of this machine, by the driver's tool."""
    if not shutil.which("nvidia-smi"):
        return 0
    said = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True)
    return sum(line.startswith("GPU ") for line in said.stdout.splitlines())


def run_row(row: Row, stage: Stage) -> dict[str, Any]:
    """All cases of a row.  A failure of the scorecard itself is one of the row."""
    begin, cases = time.monotonic(), []
    try:
        for case in row.run(stage):
            cases.append(case)
    except Exception as error:
        cases.append(Case("the scorecard itself", 1, f"{type(error).__name__}: {error}"))
    return tally(cases) | {"seconds": round(time.monotonic() - begin, 1)}


def told(number: str, result: dict[str, Any]) -> str:
    """The progress line of a row, and a line for each kind of case that failed."""
    state = "held" if result["held"] else "NOT HELD" if result["failed"] else "not run"
    lines = [f"row {number:>2}: {state}, {result['times']} tried, {result['failed']} failed, {result['seconds']:.0f} s"]
    for name, case in result["cases"].items():
        if case.get("failure"):
            lines.append(f"        {name} ({case['failed']} failed): {case['failure']}")
    return "\n".join(lines)


def run_all(args: argparse.Namespace) -> int:
    """Run the rows under each MPI.  Returns the exit status."""
    rows = [row for row in chosen(args.rows) if seconds_of(row, args.gpu)]
    if args.gpu:
        rows.sort(key=lambda row: IMPORTANT.index(row.number) if row.number in IMPORTANT else len(IMPORTANT))
    mpis = [Mpi.in_folder(*one.split("=", 1)) for one in args.mpi] or [Mpi.in_folder("mpi", "")]
    n_gpus = count_gpus() if args.gpu else 0
    if args.gpu and not n_gpus:
        raise ValueError("--gpu: nvidia-smi shows no GPU here")
    data: dict[str, Any] = {"runs": []}
    if args.go_on and args.out.exists():
        data = json.loads(args.out.read_text())
    known = {run["name"]: run for run in data["runs"]}
    todo = [(mpi, row) for mpi in mpis for row in rows if row.number not in known.get(mpi.name, {"rows": ()})["rows"]]
    whole_s = sum(seconds_of(row, args.gpu) for _, row in todo)
    scale = min(args.scale, 60 * args.minutes / max(whole_s, 1.0)) if args.minutes else args.scale
    ends_s = time.monotonic() + 60 * args.minutes if args.minutes else float("inf")
    for mpi in mpis:
        if mpi.name not in known:
            known[mpi.name] = {"name": mpi.name, "facts": facts(mpi, n_gpus), "scale": round(scale, 3), "rows": {}}
            data["runs"].append(known[mpi.name])
        run, stage = known[mpi.name], Stage(mpi, scale, args.seed, n_gpus)
        print(f"{mpi.name}: {run['facts']['MPI']}, {run['facts']['devices']}, scale {scale:.3f}", flush=True)
        try:
            for row in [row for one, row in todo if one is mpi]:
                if time.monotonic() > ends_s:
                    print(f"row {row.number:>2}: no time left; --continue does it", flush=True)
                    continue
                if args.minutes:
                    stage.row_ends_s = time.monotonic() + max(LEAST_S, 1.2 * scale * seconds_of(row, args.gpu))
                run["rows"][row.number] = result = run_row(row, stage)
                print(told(row.number, result), flush=True)
                write_whole(args.out, json.dumps(data, indent=1) + "\n")
        finally:
            shutil.rmtree(stage.folder, ignore_errors=True)
    results = [result for run in data["runs"] for result in run["rows"].values()]
    print(f"{sum(result['held'] for result in results)} of {len(results)} rows held; {args.out}")
    return int(any(result["failed"] for result in results))


def write_whole(path: Path, text: str) -> None:
    """Write a file beside its name, and rename it: it is whole at any moment."""
    part = path.with_name(path.name + ".part")
    part.write_text(text)
    part.replace(path)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="*", type=Path, help="result files, for --write")
    parser.add_argument("--rows", default=",".join(ROWS), help="such as 1,2,10-14 (all)")
    text = "a bin folder with python and mpirun; may be given several times (this Python's)"
    parser.add_argument("--mpi", action="append", default=[], metavar="NAME=BIN", help=text)
    parser.add_argument("--scale", type=float, default=1.0, help="counts, as a share of a whole run (%(default)g)")
    parser.add_argument("--minutes", type=float, help="cut the counts so that it takes about so long")
    parser.add_argument("--seed", type=int, default=1, help="of everything random (%(default)d)")
    parser.add_argument("--gpu", action="store_true", help="the rows of GPUs, on all GPUs of this machine")
    parser.add_argument("--out", type=Path, metavar="JSON", help="where the results go, after each row")
    parser.add_argument("--continue", dest="go_on", action="store_true", help="leave out the rows that --out has")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the page from the result files")
    args = parser.parse_args(argv)
    try:
        if args.write:
            raw = [os.path.relpath(path, args.write.parent) for path in args.results]
            write_whole(args.write, page([json.loads(path.read_text()) for path in args.results], raw))
            return 0
        if not args.out:
            raise ValueError("give --out FILE.json, or --write PAGE with result files")
        if wrong := [one for one in args.mpi if "=" not in one]:
            raise ValueError(f"--mpi {wrong[0]}: give NAME=BIN_FOLDER")
        return run_all(args)
    except (ValueError, OSError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    sys.exit(main())
