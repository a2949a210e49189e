"""Measure a collective of this library beside other libraries, with the options of nccl-tests."""

import argparse
import platform
import sys
import time
from pathlib import Path
from typing import Any

from .. import __version__
from ..arrays.dtypes import TABLE as DTYPES
from ..arrays.operators import NAMES as OPS
from ..bench import accuracy, columns, floor, plot, setup, sizes
from ..bench.cases import CASES
from ..bench.result import Result
from ..bench.rivals import RIVALS
from ..bench.run import Options
from ..bench.session import Session
from ..bench.timing import Effort
from ..kernels.algorithm import MAX_THREADS, WARP_THREADS
from ..team import Team
from .arguments import listed, names, path, real, size, whole
from .ended import WRONG_USE, Ended, check_writable, started, tell, written

HELP = "measure a collective beside other libraries"
NCCL_NAMES = {"float": "float32", "half": "float16", "double": "float64"}
CALLS, WARMUP_CALLS, ACCURACY = 20, 5, "accuracy"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options; -b -e -f -i -n -w -d -o -r -c mean the same as in nccl-tests."""
    add = parser.add_argument
    add("case", choices=[*CASES, ACCURACY], help="a collective, or accuracy: the error of AllReduce's sum")
    add("-b", "--minbytes", type=size(), default=1 << 10, metavar="SIZE", help="smallest size (1K)")
    few_cores = f"1M without a GPU, for more than {setup.RANKS_A_CORE} ranks a core"
    add("-e", "--maxbytes", type=size(), default=0, metavar="SIZE", help=f"largest (64M; {few_cores})")
    add("-f", "--stepfactor", type=real(1.001, 1e6), default=4, help="factor from one size to the next (%(default)g)")
    add("-i", "--stepbytes", type=size(), default=0, metavar="SIZE", help="step, instead of a factor")
    add("--sizes", type=listed(size()), default=[], metavar="LIST", help="these sizes instead, such as 7,1023,64K")
    add("-n", "--iters", type=whole(1, 10**6), default=0, help=f"calls of one measurement ({CALLS}, fewer for long ones)")
    add("-w", "--warmup_iters", type=whole(0, 10**6), default=WARMUP_CALLS, help="calls before it (%(default)d)")
    add("--budget-ms", type=real(0.01, 1e6), default=100, help="time for one number; more: more repeats (%(default)g)")
    own = f"float32; of accuracy {' and '.join(accuracy.DTYPES)}"
    text = f"dtypes, or nccl-tests' names, or all ({own})"
    add("-d", "--datatype", type=names(DTYPES, "dtype", NCCL_NAMES), help=text)
    add("-o", "--op", type=names(OPS, "op"), default=["sum"], help="some of sum, prod, min, max and avg, or all (sum)")
    add("-r", "--root", type=whole(0, 1 << 20), default=0, help="the root of broadcast and reduce (%(default)d)")
    add(
        "-c",
        "--check",
        type=whole(0, 1),
        default=1,
        metavar="0|1",
        help="1 compares every element with the exact result (1)",
    )
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--graph", action="store_true", help="run calls in a CUDA graph (the default on GPUs)")
    mode.add_argument("--eager", action="store_true", help="launch calls one by one")
    add("--place", choices=("both", "out", "in"), default="both", help="out of place, in place, or both")
    add("--symmetric", action="store_true", help="put the library's buffers in the symmetric heap")
    rivals = names(RIVALS, "rival", also_all=False)
    add("--against", type=rivals, default=[], metavar="LIST", help=f"other libraries: {', '.join(RIVALS)}")
    each = "each with --topology, --blocks, --piece-bytes or --threads"
    add("--algorithm", help=f"auto, names, or each for all that can run (auto; {each})")
    add("--blocks", type=listed(whole(1, 1 << 16)), default=[], metavar="LIST", help="blocks, instead of the plan's")
    add("--piece-bytes", type=listed(size()), default=[], metavar="LIST", help="size of a message, instead of the plan's")
    threads = listed(whole(WARP_THREADS, MAX_THREADS, multiple=WARP_THREADS))
    add("--threads", type=threads, default=[], metavar="LIST", help="threads of a block, instead of the plan's")
    add("--topology", metavar="NAME", help="lay nodes over the PEs, such as two-nodes-of-eight; prints bytes by rail")
    add(
        "--sms",
        type=listed(whole(1, 1 << 10)),
        default=[],
        metavar="LIST",
        help="calls of so few multiprocessors as well",
    )
    add("--order", choices=("any", "canonical"), default="any", help="canonical: allreduce in that order too")
    add("--floor", action="store_true", help="measure a launch, a hop and a link, and how near each time is to them")
    add("--plan", action="store_true", help="measure persistent plans instead of calls")
    add("--elements", type=size(1, 1 << 40), default=accuracy.ELEMENTS, metavar="N", help="elements for accuracy (1M)")
    add("--output", type=path, metavar="JSON", help="write all results to a file")
    add("--plot", type=path, nargs="?", const=Path("bench"), metavar="PATH", help="write PATH.png and .svg (bench.*)")
    add("--quiet", action="store_true", help="no progress line")


def problem(args: argparse.Namespace) -> str:
    """What is wrong with arguments that are right one by one, in a sentence, or "" ."""
    try:
        setup.check(args)
        max_bytes = args.elements * 8 if args.case == ACCURACY else max(swept(args))
    except ValueError as error:
        return str(error)
    files = [args.output, *(plot.paths(args.plot) if args.plot else ())]
    if args.plot and (args.case == ACCURACY or plot.missing()):
        return plot.missing() or "--plot draws times, and accuracy measures none: leave it out"
    return setup.too_large(max_bytes) or next(filter(None, map(check_writable, files)), "")


def swept(args: argparse.Namespace) -> list[int]:
    """The sizes, in bytes.  Raises ValueError."""
    end_bytes = args.maxbytes or max(args.minbytes, setup.default_max_bytes())
    return sorted(set(args.sizes)) or sizes.sweep(args.minbytes, end_bytes, args.stepfactor, args.stepbytes)


def run(args: argparse.Namespace) -> int:
    """Measure, print and write.  Collective.  Returns 1 for wrong elements, 2 if nothing was measured.  Raises Ended."""
    accuracy_only = args.case == ACCURACY
    args.algorithm = args.algorithm or ("each" if args.topology else "auto")
    dtypes = [DTYPES[name] for name in args.datatype or (accuracy.DTYPES if accuracy_only else ["float32"])]
    ops = args.op if accuracy_only or CASES[args.case].reduces else [""]
    max_bytes = args.elements * 8 if accuracy_only else max(swept(args))
    symmetric = args.symmetric or args.case == "put"
    with started(heap_bytes=setup.heap_bytes(max_bytes if symmetric else 0), topology=args.topology) as team:
        implementations, refused = setup.implementations(team, args, max_bytes)
        if not implementations:
            raise Ended("; ".join(f"{name} can't run here: {why}" for name, why in refused.items()), WRONG_USE)
        result = Result(facts(team, implementations), {k: str(v) for k, v in vars(args).items()}, refused=refused)
        if accuracy_only:
            rows = accuracy.measure(team, implementations, dtypes, args.elements)
            result.accuracy = accuracy.as_json(rows)
            said = [*accuracy.table(rows, team.n_pes, args.elements), *columns.tail(result)]
            ours = [row for row in rows if row.implementation not in RIVALS]
            status = 0 if ours and all(row.same_on_all and row.same_each_run for row in ours) else 1
        else:
            effort = Effort(args.iters or CALLS, args.warmup_iters, args.budget_ms, exact=args.iters > 0)
            graph = team.backend == "cuda" and not args.eager
            options = Options(args.root, effort, graph, bool(args.check), args.place != "in", args.place != "out")
            session = Session(team, CASES[args.case], implementations, swept(args), dtypes, ops, options, args.quiet)
            session.run(result, tell)
            result.floor = floor.measure(team) if args.floor else None
            said = [*columns.comparison(result), *columns.tail(result)]
            status = 1 if any(row.wrong for row in result.rows) else 0 if result.rows else 2
        if team.me == 0:
            tell("\n".join(said))
        written(team, lambda: write(result, args))
        return status


def write(result: Result, args: argparse.Namespace) -> None:
    """Write the files that were asked for.  Raises FileError."""
    if args.output:
        result.write(args.output)
    if args.plot and result.rows:
        plot.draw(result, args.plot)


def facts(team: Team, implementations: Any) -> dict[str, Any]:
    """The machine, the libraries and the command."""
    return {
        "pennympi": __version__,
        "backend": team.backend,
        "PEs": team.n_pes,
        **dict(team.describe()),
        **{one.name: one.version for one in implementations if one.name in RIVALS},
        "Python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d"),
        "command": "python -m pennympi " + " ".join(sys.argv[1:]),
    }
