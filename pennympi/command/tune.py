"""Measure every AllReduce algorithm that can run here, and write the times: later runs choose the fastest."""

import argparse
import math
import secrets
import time
from pathlib import Path

from .. import init
from ..arrays.dtypes import dtype_of
from ..bench import setup, sizes
from ..bench.cases import CASES
from ..bench.memory import plain
from ..bench.ours import Ours
from ..bench.progress import Progress
from ..bench.run import Options, Run
from ..bench.timing import Effort
from ..errors import PennympiError
from ..selection.tuned import Series, Tuned, topology_of, user_file, write
from ..team import Team
from .arguments import names_argument, size_argument

HELP = "measure all AllReduce algorithms, so that later runs choose the fastest"
# From this size on, an algorithm that is this many times slower than the best is not measured at larger sizes.
DROP_MIN_BYTES, DROP_RATIO = 4 << 20, 4


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("-b", "--minbytes", type=size_argument, default=1 << 10, metavar="SIZE", help="smallest size (1K)")
    add("-e", "--maxbytes", type=size_argument, default=0, metavar="SIZE", help="largest size (1G; 64M without a GPU)")
    add("-f", "--stepfactor", type=float, default=4, help="factor from one size to the next (%(default)g)")
    add("-d", "--datatype", type=names_argument, default=["float32", "bfloat16"], help="dtypes (float32,bfloat16)")
    add("--budget-ms", type=float, default=30, help="time for one number (%(default)g)")
    add("--output", type=Path, metavar="TOML", help="the file to write (in the cache folder, where later runs find it)")


def run(args: argparse.Namespace) -> int:
    """Measure, write the table and print the fastest algorithms.  Collective.  Raises ValueError, PennympiError."""
    dtypes = [dtype_of(name) for name in args.datatype]
    max_bytes = args.maxbytes or (64 << 20 if setup.on_host() else 1 << 30)
    swept = sizes.sweep(args.minbytes, max_bytes, args.stepfactor, 0)
    with init(heap_bytes=setup.heap_bytes(max_bytes)) as team:
        seed = team.gather(secrets.randbits(48))[0]
        progress = Progress(len(dtypes) * len(swept), team.me == 0)
        memory = plain(team)
        memory.grow(max_bytes)
        series = []
        for dtype in dtypes:
            effort = Effort(warmup=2, budget_ms=args.budget_ms)
            options = Options(effort=effort, graph=team.backend == "cuda", in_place=False)
            runner = Run(team, CASES["allreduce"], dtype, "sum", options, seed)
            names = [
                name
                for name, row in setup.algorithms("allreduce").items()
                if not row.refuse(team.place, dtype.name, "sum")
            ]
            ours = [Ours(team, memory, name, name) for name in names]
            series.append(measured(team, runner, ours, swept, progress))
        progress.clear()
        note = f"Measured {time.strftime('%Y-%m-%d')} by python -m pennympi tune; {versions(team)}."
        found = Tuned(team.device_name, team.n_pes, topology_of(team.place), note, tuple(series))
        path = args.output or user_file(team.device_name, team.place)
        error = keep(found, path) if team.me == 0 else ""
        error = team.gather(error)[0]
        if error:
            raise PennympiError(error)
        if team.me == 0:
            print("\n".join(fastest(found)))
            used = "every later run on this machine uses it" if not args.output else f"PENNYMPI_TUNED={path} uses it"
            print(f"written to {path}: {used}", flush=True)
    return 0


def measured(team: Team, runner: Run, ours: list[Ours], swept: list[int], progress: Progress) -> Series:
    """Times of the algorithms at all sizes, in bytes.  Collective.  Raises PennympiError for a wrong result."""
    us: dict[str, list[float]] = {one.name: [] for one in ours}
    left = list(ours)
    for nbytes in swept:
        progress.step(f"{sizes.show(nbytes)} {runner.dtype.name}")
        rows = {row.implementation: row for row in runner.measure(left, nbytes, False) if row}
        wrong = [name for name, row in rows.items() if row.wrong]
        if wrong:
            raise PennympiError(f"{', '.join(wrong)} gave a wrong result of {nbytes} bytes: nothing was written")
        for name, times in us.items():
            times.append(rows[name].median_us if name in rows else math.nan)
        best_us = min(row.median_us for row in rows.values())
        if nbytes >= DROP_MIN_BYTES:
            left = [one for one in left if rows[one.name].median_us <= DROP_RATIO * best_us]
    return Series("allreduce", runner.dtype.name, tuple(swept), {name: tuple(times) for name, times in us.items()})


def versions(team: Team) -> str:
    """The versions of what was measured, in words."""
    facts = dict(team.describe())
    return (
        ", ".join(f"{key} {facts[key]}" for key in ("NVSHMEM", "CUDA driver") if key in facts)
        or f"{team.backend} backend"
    )


def keep(found: Tuned, path: Path) -> str:
    """Write the file.  Returns why that failed, or "" if it did not."""
    try:
        write(found, path)
    except OSError as error:
        return f"{path} can't be written ({error}): give another one by --output, or set PENNYMPI_CACHE_DIR"
    return ""


def fastest(found: Tuned) -> list[str]:
    """Lines with the fastest algorithm for each dtype and size."""
    lines = [f"{found.device}, {found.pes} PEs, {found.topology}"]
    for series in found.series:
        for nbytes in series.sizes_bytes:
            us = series.at(nbytes)
            best = min(us, key=lambda name: us[name])
            lines.append(
                f"  {series.collective} {series.dtype:9s} {sizes.show(nbytes):>8s}  {best:18s} {us[best]:10.2f} us"
            )
    return lines
