"""Measure every AllReduce algorithm that can run here, and write the times: later runs choose the fastest.

Every size is measured until two measurements agree on the order of the algorithms.  Where the PEs share their cores or
GPUs, or where the order does not settle, nothing is written, for all later runs would obey the table.
"""

import argparse
import math
import secrets
import time
from collections.abc import Callable
from pathlib import Path

from ..arrays.dtypes import TABLE as DTYPES
from ..bench import setup, sizes
from ..bench.cases import CASES
from ..bench.implementation import plain
from ..bench.run import Options, Run
from ..bench.stable import crowded, until_stable
from ..bench.this_library import Ours, algorithms
from ..bench.timing import Effort
from ..selection.find import file_name, topology_word, user_folder
from ..selection.table import Series, Tuned, write
from .arguments import names, real, size
from .exit_status import FAILED, WRONG_USE, Ended, check_writable, started, tell, written

HELP = "measure all AllReduce algorithms, so that later runs choose the fastest"
# From this size on, an algorithm that is this many times slower than the best is not measured at larger sizes.
DROP_MIN_BYTES, DROP_RATIO = 4 << 20, 4
MOST_UNSTABLE = 0.25  # the share of sizes whose order may not settle


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("-b", "--minbytes", type=size(), default=1 << 10, metavar="SIZE", help="smallest size (1K)")
    add("-e", "--maxbytes", type=size(), default=0, metavar="SIZE", help="largest size (1G; 64M without a GPU)")
    add("-f", "--stepfactor", type=real(1.001, 1e6), default=4, help="factor from one size to the next (%(default)g)")
    dtypes = names(DTYPES, "dtype")
    add("-d", "--datatype", type=dtypes, default=["float32", "bfloat16"], help="dtypes (float32,bfloat16)")
    text = "time for one number; more where it is not stable (%(default)g)"
    add("--budget-ms", type=real(0.01, 1e6), default=30, help=text)
    add("--anyway", action="store_true", help="write a table though PEs share cores, or the order is not stable")
    add("--output", type=Path, metavar="TOML", help="the file to write (in the cache folder, where later runs find it)")


def problem(args: argparse.Namespace) -> str:
    """What is wrong with arguments that are right one by one, in a sentence, or "" ."""
    try:
        max_bytes = swept(args)[-1]
    except ValueError as error:
        return str(error)
    file = args.output or user_folder() / "table.toml"
    return setup.too_large(max_bytes) or check_writable(file)


def swept(args: argparse.Namespace) -> list[int]:
    """The sizes, in bytes.  Raises ValueError."""
    max_bytes = args.maxbytes or max(args.minbytes, 64 << 20 if setup.on_host() else 1 << 30)
    return sizes.sweep(args.minbytes, max_bytes, args.stepfactor, 0)


def run(args: argparse.Namespace) -> int:
    """Measure, write the table and print the fastest algorithms.  Collective.  Raises Ended."""
    dtypes, every_size = [DTYPES[name] for name in args.datatype], swept(args)
    with started(heap_bytes=setup.heap_bytes(0)) as team:
        shared = crowded(team)
        if shared and not args.anyway:
            why = "the times would mislead all later runs; start fewer ranks, or give --anyway"
            raise Ended(f"{shared}: {why}", WRONG_USE)
        seed = team.gather(secrets.randbits(48))[0]
        memory = plain(team, every_size[-1])
        series, unstable = [], []
        for dtype in dtypes:
            effort = Effort(warmup=2, budget_ms=args.budget_ms / 2)  # it is measured twice or more
            options = Options(effort=effort, graph=team.backend == "cuda")
            runner = Run(team, CASES["allreduce"], dtype, "sum", options, seed)
            every = [Ours(team, memory, name) for name in algorithms("allreduce")]
            ours = [one for one in every if not one.why_not(CASES["allreduce"], dtype, "sum")]
            found_here, unsettled = measured(runner, ours, every_size, tell if team.me == 0 else lambda text: None)
            series.append(found_here)
            unstable += [f"{sizes.show(nbytes)} {dtype.name}" for nbytes in unsettled]
        doubt = _doubt(unstable, len(dtypes) * len(every_size))
        if len(unstable) > MOST_UNSTABLE * len(dtypes) * len(every_size) and not args.anyway:
            raise Ended(f"{doubt}: nothing was written; stop other work on the machine, or give --anyway", FAILED)
        versions = [f"{key} {value}" for key, value in team.describe() if key in ("NVSHMEM", "CUDA driver")]
        with_what = ", ".join(versions) or f"{team.backend} backend"
        note = f"Measured {time.strftime('%Y-%m-%d')} by python -m pennympi tune; {with_what}."
        note = " ".join([note, *(f"{one[0].upper()}{one[1:]}." for one in (shared, doubt) if one)])
        found = Tuned(team.device_name, team.n_pes, topology_word(team.pe_topology), note, tuple(series))
        file = args.output or user_folder() / file_name(team.device_name, team.pe_topology)
        written(team, lambda: write(found, file))
        if team.me == 0:
            used = "every later run on this machine uses it" if not args.output else f"PENNYMPI_TUNED={file} uses it"
            tell(f"written to {file}: {used}" + (f"; {doubt}" if doubt else ""))
    return 0


def _doubt(unstable: list[str], n_sizes: int) -> str:
    """Where the order of the algorithms did not settle, in words, or "" ."""
    some = ", ".join(unstable[:4]) + (" and others" if len(unstable) > 4 else "")
    where = f"at {len(unstable)} of {n_sizes} sizes ({some})"
    return f"the order of the algorithms changed from one measurement to the next {where}" if unstable else ""


def measured(runner: Run, ours: list[Ours], swept: list[int], tell: Callable[[str], None]) -> tuple[Series, list[int]]:
    """(times of the algorithms at all sizes, the sizes in bytes where their order did not settle).  Collective.

    The fastest algorithm of each size is printed by ``tell``.  Raises Ended for a wrong result.
    """
    us: dict[str, list[float]] = {one.name: [] for one in ours}
    left, unstable = list(ours), list[int]()
    for nbytes in swept:
        took_us, stable = until_stable(lambda: _once(runner, left, nbytes))  # noqa: B023 (called at once)
        unstable += [] if stable else [nbytes]
        best = min(took_us, key=lambda name: took_us[name])
        tell(f"  allreduce {runner.dtype.name:9s} {sizes.show(nbytes):>8s}  {best:18s} {took_us[best]:10.2f} us")
        for name, times in us.items():
            times.append(took_us.get(name, math.nan))
        if nbytes >= DROP_MIN_BYTES:
            left = [one for one in left if took_us[one.name] <= DROP_RATIO * min(took_us.values())]
    by_name = {name: tuple(times) for name, times in us.items()}
    return Series(runner.dtype.name, tuple(swept), by_name), unstable


def _once(runner: Run, ours: list[Ours], nbytes: int) -> dict[str, float]:
    """One measurement: the time in us of each algorithm.  Collective.  Raises Ended for a wrong result."""
    rows = runner.measure(ours, nbytes, False)
    if wrong := [name for name, row in rows.items() if row.wrong]:
        raise Ended(f"{', '.join(wrong)} gave a wrong result of {nbytes} bytes: nothing was written", FAILED)
    return {name: row.median_us for name, row in rows.items()}
