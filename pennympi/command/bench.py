"""Measure a collective of this library beside other libraries, with the options of nccl-tests."""

import argparse
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

from .. import __version__, init
from ..arrays.dtypes import TABLE as DTYPES
from ..arrays.operators import NAMES as OPS
from ..bench import accuracy, columns, plot, setup, sizes
from ..bench.cases import CASES
from ..bench.result import Result
from ..bench.rivals import RIVALS
from ..bench.run import Options
from ..bench.session import Session
from ..bench.timing import Effort
from ..errors import TopologyError
from ..team import Team
from .arguments import names_argument, size_argument, sizes_argument

HELP = "measure a collective beside other libraries"
NCCL_NAMES = {"float": "float32", "half": "float16", "double": "float64"}
CALLS, WARMUP_CALLS, ACCURACY = 20, 5, "accuracy"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options; -b -e -f -i -n -w -d -o -r -c mean the same as in nccl-tests."""
    add = parser.add_argument
    add("case", choices=[*CASES, ACCURACY], help="a collective, or accuracy: the error of AllReduce's sum")
    add("-b", "--minbytes", type=size_argument, default=1 << 10, metavar="SIZE", help="smallest size (1K)")
    add("-e", "--maxbytes", type=size_argument, default=0, metavar="SIZE", help="largest (64M; 1M if cores are few)")
    add("-f", "--stepfactor", type=float, default=4, help="factor from one size to the next (%(default)g)")
    add("-i", "--stepbytes", type=size_argument, default=0, metavar="SIZE", help="step, instead of a factor")
    add("--sizes", type=sizes_argument, default=[], metavar="LIST", help="these sizes instead, such as 7,1023,64K")
    add("-n", "--iters", type=int, default=0, help=f"calls of one measurement ({CALLS}, fewer for long ones)")
    add("-w", "--warmup_iters", type=int, default=WARMUP_CALLS, help="calls before the measurement (%(default)d)")
    add("--budget-ms", type=float, default=100, help="time for one number; more gives more repeats (%(default)g)")
    add("-d", "--datatype", default="", help="dtypes, by our names or nccl-tests', or all (float32)")
    add("-o", "--op", default="sum", help="some of sum, prod, min, max and avg, or all (%(default)s)")
    add("-r", "--root", type=int, default=0, help="the root of broadcast and reduce (%(default)d)")
    add("-c", "--check", type=int, default=1, choices=(0, 1), help="1 compares every element with the exact result")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--graph", action="store_true", help="run calls in a CUDA graph (the default on GPUs)")
    mode.add_argument("--eager", action="store_true", help="launch calls one by one")
    add("--place", choices=("both", "out", "in"), default="both", help="out of place, in place, or both")
    add("--symmetric", action="store_true", help="put the library's buffers in the symmetric heap")
    add("--against", type=names_argument, default=[], metavar="LIST", help=f"other libraries: {', '.join(RIVALS)}")
    add("--algorithm", help="auto, names, or each for all that can run (auto; each with --topology)")
    add("--blocks", type=sizes_argument, default=[], metavar="LIST", help="number of blocks, instead of the plan's")
    add("--piece-bytes", type=sizes_argument, default=[], metavar="LIST", help="size of a message, instead of the plan's")
    add("--threads", type=sizes_argument, default=[], metavar="LIST", help="threads of a block, instead of the plan's")
    add("--topology", metavar="NAME", help="lay nodes over the PEs, such as two-nodes-of-eight; prints bytes by rail")
    add("--plan", action="store_true", help="measure persistent plans instead of calls")
    add("--elements", type=size_argument, default=accuracy.ELEMENTS, metavar="N", help="elements for accuracy (1M)")
    add("--output", type=Path, metavar="JSON", help="write all results to a file")
    add("--plot", type=Path, nargs="?", const=Path("bench"), metavar="PATH", help="write PATH.png and .svg (bench.*)")
    add("--quiet", action="store_true", help="no progress line")


def run(args: argparse.Namespace) -> int:
    """Measure, print and write.  Collective.  Returns 1 for wrong elements, 2 for wrong arguments or no results."""
    accuracy_only = args.case == ACCURACY
    args.algorithm = args.algorithm or ("each" if args.topology else "auto")
    try:
        end_bytes = args.maxbytes or setup.default_max_bytes()
        swept = sorted(set(args.sizes)) or sizes.sweep(args.minbytes, end_bytes, args.stepfactor, args.stepbytes)
        named = args.datatype or (",".join(accuracy.DTYPES) if accuracy_only else "float32")
        dtypes = [DTYPES[name] for name in chosen(named, DTYPES, "dtype", NCCL_NAMES)]
        ops = chosen(args.op, OPS, "op", {}) if accuracy_only or CASES[args.case].reduces else [""]
        if args.plot and (why := plot.missing()):
            raise ValueError(why)
    except ValueError as error:
        return wrong_argument(error)
    max_bytes = args.elements * 8 if accuracy_only else max(swept)
    if args.topology:
        os.environ.setdefault("PENNYMPI_COUNT_BYTES", "1")  # so that the host backend counts what each rail carries
    try:
        team = init(heap_bytes=setup.heap_bytes(max_bytes), topology=args.topology)
    except TopologyError as error:
        return wrong_argument(error)
    with team:
        try:
            implementations, refused = setup.implementations(team, args, max_bytes)
        except ValueError as error:
            return wrong_argument(error)
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
            Session(team, CASES[args.case], implementations, swept, dtypes, ops, options, args.quiet).run(result)
            said = [*columns.comparison(result), *columns.tail(result)]
            status = 1 if any(row.wrong for row in result.rows) else 0 if result.rows else 2
        if team.me == 0:
            print("\n".join(said), flush=True)
            if args.output:
                result.write(args.output)
            if args.plot and result.rows:
                plot.draw(result, args.plot)
        return status


def chosen(text: str, known: Any, what: str, other_names: dict[str, str]) -> list[str]:
    """The names in ``known`` of a list such as "float,int8" or "all".  Raises ValueError for an unknown name.

    what: a name's kind, for the message;  other_names: {another name: the name in ``known``}
    """
    if text == "all":
        return list(known)
    found = [other_names.get(name, name) for name in names_argument(text)]
    for name in found:
        if name not in known:
            raise ValueError(f"{what} {name!r} is unknown: use all, or some of {', '.join(known)}")
    return found


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


def wrong_argument(error: Exception) -> int:
    """Print the error on rank 0; returns the exit status."""
    from mpi4py import MPI

    if MPI.COMM_WORLD.rank == 0:
        print(f"python -m pennympi bench: {error}", file=sys.stderr, flush=True)
    return 2
