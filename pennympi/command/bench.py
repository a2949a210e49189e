"""Measure a collective of this library and of other libraries, with the options of nccl-tests."""

import argparse
import os
import platform
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import __version__
from ..arrays.dtypes import TABLE as DTYPES
from ..arrays.operators import NAMES as OPS
from ..bench import columns, setup
from ..bench.baselines import BASELINES
from ..bench.cases import CASES
from ..bench.implementation import Implementation
from ..bench.result import Result
from ..bench.run import Options, measure_all
from ..bench.timing import Effort
from ..team import Team
from .arguments import add_sizes, listed, names, real, size, sizes_of, whole
from .exit_status import WRONG_USE, Ended, check_writable, show, started, written

HELP = "measure a collective beside other libraries"
NCCL_NAMES = {"float": "float32", "half": "float16", "double": "float64"}
CALLS, WARMUP_CALLS = 20, 5


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options; -b -e -f -i -n -w -d -o -r -c mean the same as in nccl-tests."""
    add = parser.add_argument
    add("case", choices=CASES, metavar="COLLECTIVE", help=f"the collective that is measured: {', '.join(CASES)}")
    add_sizes(add, "64M; 1M without a GPU")
    text = "bytes from one size to the next, instead of a factor (default: 0, by the factor)"
    add("-i", "--stepbytes", type=size(), default=0, metavar="SIZE", help=text)
    text = "sizes in bytes, instead of a range, such as 7,1023,64K (default: the range)"
    add("--sizes", type=listed(size()), default=[], metavar="LIST", help=text)
    text = f"number of calls of one measurement (default: {CALLS}, fewer for long ones)"
    add("-n", "--iters", type=whole(1, 10**6), default=0, metavar="N", help=text)
    text = "number of calls before the measurement (default: %(default)d)"
    add("-w", "--warmup_iters", type=whole(0, 10**6), default=WARMUP_CALLS, metavar="N", help=text)
    text = "time for one number of the table, in ms; more time is more repeats (default: %(default)g)"
    add("--budget-ms", type=real(0.01, 1e6), default=100, metavar="MS", help=text)
    dtypes = names(DTYPES, "dtype", NCCL_NAMES)
    text = "dtypes of the elements, or nccl-tests' names, or all (default: float32)"
    add("-d", "--datatype", type=dtypes, default=["float32"], metavar="LIST", help=text)
    text = "reductions: some of sum, prod, min, max and avg, or all (default: sum)"
    add("-o", "--op", type=names(OPS, "op"), default=["sum"], metavar="LIST", help=text)
    text = "number of the PE that is the root of broadcast and reduce (default: %(default)d)"
    add("-r", "--root", type=whole(0, 1 << 20), default=0, metavar="PE", help=text)
    text = "whether every element is compared with the exact result (default: 1)"
    add("-c", "--check", type=whole(0, 1), default=1, metavar="0|1", help=text)
    add("--eager", action="store_true", help="launch calls one by one (default: in a CUDA graph, where there is a GPU)")
    text = "where the result goes: out of place, in place, or both forms (default: both)"
    add("--place", choices=("both", "out", "in"), default="both", help=text)
    text = "put the library's buffers in the symmetric heap (default: in plain memory)"
    add("--symmetric", action="store_true", help=text)
    baselines = names(BASELINES, "baseline", with_all=False)
    text = f"other libraries to measure: {', '.join(BASELINES)} (default: none)"
    add("--against", type=baselines, default=[], metavar="LIST", help=text)
    text = "auto (the choice of a call), names of algorithms, or each for all that can run (default: auto)"
    add("--algorithm", default="auto", metavar="LIST", help=text)
    text = "largest number of multiprocessors that a call may hold (default: no limit)"
    add("--sms", type=whole(1, 1 << 10), default=0, metavar="N", help=text)
    add("--plan", action="store_true", help="measure persistent plans (default: calls)")
    add("--output", type=Path, metavar="JSON", help="file for all results (default: none)")


def problem(args: argparse.Namespace) -> str:
    """The problem of arguments that are valid one by one, as a sentence, or ""."""
    try:
        setup.check(args)
        max_bytes = max(swept(args))
    except ValueError as error:
        return str(error)
    return setup.too_large(max_bytes) or check_writable(args.output)


def swept(args: argparse.Namespace) -> list[int]:
    """The sizes in bytes.  Raises ValueError."""
    return sorted(set(args.sizes)) or sizes_of(args, 1 << 20 if setup.on_host() else 64 << 20, args.stepbytes)


def run(args: argparse.Namespace) -> int:
    """Measure, print and write.  Collective.  Returns 1 for wrong elements, 2 if nothing was measured.  Raises Ended."""
    case, all_sizes = CASES[args.case], swept(args)
    kinds = [(DTYPES[name], op) for name in args.datatype for op in (args.op if case.reduces else [""])]
    in_heap = args.symmetric or args.case == "put"
    if "nvshmem" in args.against:
        os.environ.setdefault("NVSHMEM_DISABLE_NCCL", "0")  # NVSHMEM's collectives may use NCCL
    with started(heap_bytes=setup.heap_bytes(max(all_sizes) if in_heap else 0)) as team:
        implementations, refused = setup.implementations(team, args, max(all_sizes))
        reasons = {implementation.name: implementation.why_not(case, *kinds[0]) for implementation in implementations}
        if all(reasons.values()):
            raise Ended("; ".join(f"{name} can't run here: {why}" for name, why in reasons.items()), WRONG_USE)
        about = facts(team, implementations) | {"command": "python -m pennympi " + " ".join(sys.argv[1:])}
        result = Result(about, {k: str(v) for k, v in vars(args).items()}, refused=refused)
        effort = Effort(args.iters or CALLS, args.warmup_iters, args.budget_ms, exact=args.iters > 0)
        graph = team.backend == "cuda" and not args.eager
        forms = {"both": (False, True), "out": (False,), "in": (True,)}[args.place]
        options = Options(args.root, effort, graph, bool(args.check), forms)
        for line in measure_all(team, case, implementations, all_sizes, kinds, options, result):
            show(line)
        show("\n".join([*columns.comparison(result), *columns.tail(result)]))
        if args.output:
            written(team, lambda: result.write(args.output))
        return 1 if any(row.wrong for row in result.rows) else 0 if result.rows else 2


def facts(team: Team, implementations: Sequence[Implementation]) -> dict[str, Any]:
    """{name: value} about the machine and the libraries."""
    return {
        "pennympi": __version__,
        "backend": team.backend,
        "PEs": team.n_pes,
        **dict(team.describe()),
        **{baseline.name: baseline.version for baseline in implementations if baseline.name in BASELINES},
        "Python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d"),
    }
