"""Measure every AllReduce algorithm that can run on this team, and write the times: later runs choose the fastest.

A size is measured until two measurements agree on the order of the algorithms, and left out of the table if they never
agree.  If PEs share cores or a GPU, nothing is measured, since the table would mislead all later runs.
"""

import argparse
import math
import secrets
import time
from itertools import permutations
from statistics import median

from ..arrays.dtypes import TABLE as DTYPES
from ..bench import setup
from ..bench.cases import CASES
from ..bench.columns import CLEARLY
from ..bench.implementation import plain
from ..bench.run import Options, Run
from ..bench.this_library import ThisLibrary, algorithms
from ..bench.timing import Effort
from ..kernels.algorithm import Topology
from ..selection.find import users_path
from ..selection.table import Series, Tuned, write
from ..units import size_text
from .arguments import add_sizes, names, real, sizes_of
from .exit_status import FAILED, WRONG_USE, Ended, check_writable, show, started, written

HELP = "measure all AllReduce algorithms, so that later runs choose the fastest"
# From this size on an algorithm that is slower than the best by this factor is not measured at larger sizes.
DROP_MIN_BYTES, DROP_RATIO = 4 << 20, 4
MOST_ROUNDS = 6  # most measurements of a size


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add_sizes(add, "1G; 64M without a GPU")
    dtypes = names(DTYPES, "dtype")
    text = "dtypes of the elements, or all (default: float32,bfloat16)"
    add("-d", "--datatype", type=dtypes, default=["float32", "bfloat16"], metavar="LIST", help=text)
    text = "time for one number of the table, in ms; more if it is not stable (default: %(default)g)"
    add("--budget-ms", type=real(0.01, 1e6), default=30, metavar="MS", help=text)
    text = "measure although PEs share cores, and keep sizes whose order is not stable (default: refuse, and leave out)"
    add("--anyway", action="store_true", help=text)


def problem(args: argparse.Namespace) -> str:
    """The problem of arguments that are valid one by one, as a sentence, or ""."""
    try:
        max_bytes = swept(args)[-1]
    except ValueError as error:
        return str(error)
    return setup.too_large(max_bytes) or check_writable(users_path("table", Topology((0,))))


def swept(args: argparse.Namespace) -> list[int]:
    """The sizes in bytes.  Raises ValueError."""
    return sizes_of(args, 64 << 20 if setup.on_host() else 1 << 30)


def run(args: argparse.Namespace) -> int:
    """Measure, write the table and print the fastest algorithms.  Collective.  Raises Ended."""
    all_sizes, case = swept(args), CASES["allreduce"]
    with started(heap_bytes=setup.heap_bytes(0)) as team:
        shared = team._backend.shared
        if shared and not args.anyway:
            remedy = "the times would mislead all later runs; start fewer ranks, or give --anyway"
            raise Ended(f"{shared}: {remedy}", WRONG_USE)
        seed, memory = team.gather(secrets.randbits(48))[0], plain(team, all_sizes[-1])
        effort = Effort(warmup=2, budget_ms=args.budget_ms / 2)  # each size is measured twice or more
        series = []
        for name in args.datatype:
            dtype = DTYPES[name]
            runner = Run(team, case, dtype, "sum", Options(effort=effort, graph=team.backend == "cuda"), seed)
            implementations = (ThisLibrary(team, memory, algorithm) for algorithm in algorithms("allreduce"))
            candidates = [row for row in implementations if not row.why_not(case, dtype, "sum")]
            series.append(measured(runner, candidates, all_sizes, args.anyway))
        series = [measured_series for measured_series in series if measured_series.sizes_bytes]
        if not series:
            remedy = "nothing was written; stop other work on the machine, or give --anyway"
            raise Ended(f"the order of the algorithms was not stable at any size: {remedy}", FAILED)
        versions = [f"{key} {value}" for key, value in team.describe() if key in ("NVSHMEM", "CUDA driver")]
        note = (
            f"Measured {time.strftime('%Y-%m-%d')} by python -m pennympi tune, {team.n_pes} PEs on {team.device_name}; "
        )
        note += f"{', '.join(versions) or f'{team.backend} backend'}.{f' {shared}.' if shared else ''}"
        file = users_path(team.device_name, team.pe_topology)
        written(team, lambda: write(Tuned(note, tuple(series)), file))
        show(f"written to {file}: every later run on this machine uses it")
    return 0


def measured(runner: Run, candidates: list[ThisLibrary], sizes: list[int], anyway: bool) -> Series:
    """The times of the algorithms at the sizes at which their order is stable (anyway: at all sizes).  Collective.

    Prints the fastest algorithm of each size.  Raises Ended for a wrong result.
    """
    us: dict[str, list[float]] = {algorithm.name: [] for algorithm in candidates}
    left, kept = list(candidates), []
    for nbytes in sizes:
        rounds = [_measure_once(runner, left, nbytes), _measure_once(runner, left, nbytes)]
        while not same_order(*rounds[-2:]) and len(rounds) < MOST_ROUNDS:
            rounds.append(_measure_once(runner, left, nbytes))
        took_us = {name: median(times_us[name] for times_us in rounds) for name in rounds[0]}
        best = min(took_us, key=lambda name: took_us[name])
        line = f"  allreduce {runner.dtype.name:9s} {size_text(nbytes):>8s}  {best:18s} {took_us[best]:10.2f} us"
        if same_order(*rounds[-2:]) or anyway:
            kept.append(nbytes)
            for name, times in us.items():
                times.append(took_us.get(name, math.nan))
        else:
            line += "  left out: the order of the algorithms is not stable"
        show(line)
        if nbytes >= DROP_MIN_BYTES:
            left = [algorithm for algorithm in left if took_us[algorithm.name] <= DROP_RATIO * took_us[best]]
    return Series(runner.dtype.name, tuple(kept), {name: tuple(times) for name, times in us.items()})


def same_order(before: dict[str, float], after: dict[str, float]) -> bool:
    """Whether no algorithm that was clearly faster than another in a measurement was clearly slower in the next.

    before, after: {name: time}, in any unit
    """
    pairs = permutations(before, 2)
    return not any(before[a] * CLEARLY < before[b] and after[b] * CLEARLY < after[a] for a, b in pairs)


def _measure_once(runner: Run, candidates: list[ThisLibrary], nbytes: int) -> dict[str, float]:
    """The time in us of each algorithm in a measurement.  Collective.  Raises Ended for a wrong result."""
    rows = runner.measure(candidates, nbytes, False)
    if wrong := [name for name, row in rows.items() if row.wrong]:
        raise Ended(f"{', '.join(wrong)} gave a wrong result of {nbytes} bytes: nothing was written", FAILED)
    return {name: row.median_us for name, row in rows.items()}
