"""Strong and weak scaling: the solver on several numbers of PEs, as one CSV file and a plot:

    python -m apps.jacobi.scaling --pes 1,2,4 --strong 4096 --weak 1024
    python -m apps.jacobi.scaling --pes 1,2,4,8 --strong 16384 --nccheck 100 --launcher "srun -n {n}" --repeat 5

Strong scaling solves one grid of N x N points on all numbers of PEs, weak scaling M x M points for each PE.  Efficiency
compares point updates a second with those of the fastest run on one PE, of any variant.  Run it without mpirun.
"""

import argparse
import csv
import io
import json
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...program import figure
from ...program.arguments import at_least, whole_numbers
from ...program.printing import complain, lost, name_program, say
from ...program.whole_files import in_words, why_unwritable, write_text
from ..variants import TABLE
from . import plot as scaling_plot

FIELDS = (
    "kind", "variant", "method", "dtype", "pes", "nx", "ny", "iterations", "nccheck", "runs", "best_s", "median_s",
    "glups", "effective_bandwidth_GBps", "share_of_copy", "exchange_us", "overlap_percent", "speedup",
    "efficiency_percent",
)  # fmt: skip
HALO_ROWS = 2
SOLVER = __package__.rpartition(".")[0]  # apps.jacobi, or pennympi.apps.jacobi where that is installed


def parser() -> argparse.ArgumentParser:
    """The options.  All others are passed to the solver."""
    p = argparse.ArgumentParser(
        prog=f"python -m {SOLVER}.scaling",
        description="Run the solver on several numbers of PEs. It gets all other options: --dtype, --nccheck and so on.",
        allow_abbrev=False,
    )
    p.add_argument("--pes", type=whole_numbers, default=[1, 2, 4], metavar="N,N,...", help="numbers of PEs (1,2,4)")
    p.add_argument("--strong", type=at_least(3), metavar="N", help="strong scaling: one grid of N x N points")
    p.add_argument("--weak", type=at_least(3), metavar="M", help="weak scaling: M x M points for each PE")
    text = "variants of the solver (its default one)"
    p.add_argument("--variants", type=lambda text: text.split(","), default=[None], metavar="A,B", help=text)
    text = "runs of each case, of which the best counts (%(default)s)"
    p.add_argument("--repeat", type=at_least(1), default=3, metavar="N", help=text)
    p.add_argument("--launcher", default="mpirun -np {n}", help="command that starts {n} PEs (%(default)s)")
    text = "table to write (%(default)s)"
    p.add_argument("--output", type=Path, default=Path("scaling.csv"), metavar="FILE.csv", help=text)
    p.add_argument("--plot", type=Path, metavar="FILE.png", help="plot speed and efficiency over the number of PEs")
    return p


def cases(options: argparse.Namespace) -> list[tuple[str, int, int, int]]:
    """(kind, PEs, nx, ny) of every run."""
    strong = [("strong", n, options.strong, options.strong) for n in options.pes if options.strong]
    weak = [("weak", n, options.weak, options.weak * n + HALO_ROWS) for n in options.pes if options.weak]
    return strong + weak


def run(launcher: str, n_pes: int, arguments: list[str]) -> dict[str, Any]:
    """The --json of one run.  Raises RuntimeError with its output if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "run.json"
        program = [sys.executable, "-m", SOLVER, *arguments, "--csv", "--no-serial", "--json", str(answer)]
        ended = subprocess.run(
            [*shlex.split(launcher.replace("{n}", str(n_pes))), *program],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if ended.returncode:
            raise RuntimeError(f"status {ended.returncode}: {ended.stdout.strip()[-2000:]}")
        return json.loads(answer.read_text())


def row_of(kind: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """One row of the table, without speedup and efficiency, from the runs of one case."""
    best = min(runs, key=lambda one: one["runtime_s"])
    numbers = {name: best[name] for name in FIELDS if name in best}
    numbers |= {name: best["problem"][name] for name in FIELDS if name in best["problem"]}
    return numbers | {
        "kind": kind,
        "pes": best["environment"]["n_pes"],
        "runs": len(runs),
        "best_s": best["runtime_s"],
        "median_s": statistics.median(one["runtime_s"] for one in runs),
    }


def compare(rows: list[dict[str, Any]]) -> None:
    """Fill in speedup and efficiency against the fastest row of the same kind on one PE, or "" without such a row."""
    for row in rows:
        alone = [other["glups"] for other in rows if other["pes"] == 1 and other["kind"] == row["kind"]]
        row["speedup"] = row["glups"] / max(alone) if alone else ""
        row["efficiency_percent"] = 100.0 * row["speedup"] / row["pes"] if alone else ""


def as_csv(rows: list[dict[str, Any]]) -> str:
    """The table as CSV text."""
    text = io.StringIO()
    writer = csv.DictWriter(text, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows({n: f"{v:.6g}" if isinstance(v, float) else v for n, v in row.items()} for row in rows)
    return text.getvalue()


def main(argv: list[str] | None = None) -> int:
    """Run all cases.  Returns 0 if every run succeeded, else 1."""
    name_program("jacobi")
    p = parser()
    options, more = p.parse_known_args(argv)
    if not (options.strong or options.weak):
        p.error("nothing to do: give --strong N, --weak M, or both")
    if "{n}" not in options.launcher:
        p.error(f"--launcher {options.launcher!r} has no {{n}}, which stands for the number of PEs")
    try:
        shlex.split(options.launcher)
    except ValueError as error:
        p.error(f"--launcher {options.launcher!r} is not a command ({str(error).lower()})")
    for name in options.variants:
        if name is not None and name not in TABLE:
            p.error(f"there is no variant {name!r}: choose from {', '.join(TABLE)}")
    for path in filter(None, (options.output, options.plot)):
        if why_unwritable(path):
            p.error(f"{path} cannot be written: {why_unwritable(path)}")
    if options.plot and figure.missing():
        p.error(figure.missing())
    rows: list[dict[str, Any]] = []
    failed = 0
    for kind, n_pes, nx, ny in cases(options):
        for variant in options.variants:
            arguments = ["--nx", str(nx), "--ny", str(ny), *(["--variant", variant] if variant else []), *more]
            try:
                rows.append(row_of(kind, [run(options.launcher, n_pes, arguments) for _ in range(options.repeat)]))
            except (RuntimeError, OSError) as error:
                failed += 1
                say(f"{kind} {variant or 'run'} on {n_pes} PEs failed: {error}", file=sys.stderr)
                continue
            compare(rows)
            last = rows[-1]
            efficiency = f", efficiency {last['efficiency_percent']:.1f} %" if last["speedup"] else ""
            what = f"{kind} {last['variant']} {ny} x {nx}, {n_pes} PEs"
            say(f"{what}: {last['best_s']:.4f} s, {last['glups']:.3f} GLUP/s{efficiency}")
            failed += not _written(options.output, lambda: write_text(options.output, as_csv(rows)))
    if options.plot and rows:
        failed += not _written(options.plot, lambda: scaling_plot.draw(rows, options.plot))
    return 1 if failed or lost() else 0


def _written(path: Path, write: Callable[[], None]) -> bool:
    """Whether the file could be written; if not, it says why."""
    try:
        write()
    except OSError as error:
        complain(f"{path} could not be written: {in_words(error)}")
        return False
    return True
