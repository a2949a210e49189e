"""Measure a collective beside its rivals, in the manner of nccl-tests."""

import argparse
import os
import platform
import secrets
import sys
import time
from pathlib import Path
from typing import Any

from .. import __version__, init
from ..bench import columns, field, plot, rails, sizes
from ..bench.cases import CASES
from ..bench.progress import Progress
from ..bench.result import Result
from ..bench.rivals import RIVALS
from ..bench.run import Options, Run
from ..bench.timing import Effort, host_cost_us
from ..dtypes import TABLE as DTYPES
from ..errors import TopologyError
from ..operators import NAMES as OPS
from ..team import Team
from .arguments import names_argument, size_argument, sizes_argument

HELP = "measure a collective beside its rivals"
NCCL_NAMES = {"float": "float32", "half": "float16", "double": "float64"}
CALLS, WARMUP = 20, 5


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options; -b -e -f -i -n -w -d -o -r mean what they mean to nccl-tests."""
    add = parser.add_argument
    add("case", choices=CASES, help="what to measure")
    add("-b", "--minbytes", type=size_argument, default=1 << 10, metavar="SIZE", help="smallest size (1K)")
    add("-e", "--maxbytes", type=size_argument, default=1 << 26, metavar="SIZE", help="largest size (64M)")
    add("-f", "--stepfactor", type=float, default=4, help="from one size to the next (%(default)g)")
    add("-i", "--stepbytes", type=size_argument, default=0, metavar="SIZE", help="add so much instead of multiplying")
    add("--sizes", type=sizes_argument, default=[], metavar="LIST", help="these sizes instead, such as 7,1023,64K")
    add("-n", "--iters", type=int, default=0, help=f"calls of one measurement ({CALLS}, fewer for long ones)")
    add("-w", "--warmup_iters", type=int, default=WARMUP, help="calls before anything is measured (%(default)d)")
    add("--budget-ms", type=float, default=100, help="time for one number; more of it is more repeats (%(default)g)")
    add("-d", "--datatype", default="float32", help="a dtype, nccl-tests' name of one, several, or all (%(default)s)")
    add("-o", "--op", default="sum", help="sum, prod, min, max, avg, several, or all (%(default)s)")
    add("-r", "--root", type=int, default=0, help="of broadcast and reduce (%(default)d)")
    add("-c", "--check", type=int, default=1, choices=(0, 1), help="1 compares every element with the exact result")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--graph", action="store_true", help="in a CUDA graph (the default on GPUs)")
    mode.add_argument("--eager", action="store_true", help="launched one by one")
    add("--place", choices=("both", "out", "in"), default="both", help="out of place, in place, or both")
    add("--symmetric", action="store_true", help="the library's buffers in the symmetric heap")
    add("--against", type=names_argument, default=[], metavar="LIST", help=f"rivals: {', '.join(RIVALS)}")
    add("--algorithm", default="auto", help="auto, one name or several, or each: all that can run (%(default)s)")
    add("--blocks", type=sizes_argument, default=[], metavar="LIST", help="blocks instead of the plan's")
    add("--piece-bytes", type=sizes_argument, default=[], metavar="LIST", help="bytes of a message instead of the plan's")
    add("--threads", type=sizes_argument, default=[], metavar="LIST", help="threads of a block instead of the plan's")
    add("--topology", help="nodes to lay over the PEs, instead of PENNYMPI_TOPOLOGY; counts the bytes of each rail")
    add("--output", type=Path, metavar="JSON", help="write everything to a file")
    add("--plot", type=Path, nargs="?", const=Path("bench"), metavar="PATH", help="write PATH.png and .svg (bench.*)")
    add("--quiet", action="store_true", help="no progress line")


def run(args: argparse.Namespace) -> int:
    """Measure, print, write.  Returns 1 for wrong elements, 2 for wrong arguments or nothing to measure."""
    try:
        swept = sorted(set(args.sizes)) or sizes.sweep(args.minbytes, args.maxbytes, args.stepfactor, args.stepbytes)
        dtypes = chosen(args.datatype, DTYPES, "dtype", NCCL_NAMES)
        ops = chosen(args.op, OPS, "op", {}) if CASES[args.case].reduces else [""]
        if args.plot and (why := plot.missing()):
            raise ValueError(why)
    except ValueError as error:
        return wrong_argument(error)
    if args.topology:
        os.environ.setdefault("PENNYMPI_COUNT_BYTES", "1")
    try:
        team = init(heap_bytes=field.heap_bytes(max(swept)), topology=args.topology)
    except TopologyError as error:
        return wrong_argument(error)
    with team:
        try:
            contestants, refused = field.contestants(team, args)
        except ValueError as error:
            return wrong_argument(error if team.me == 0 else None)
        result = Result(facts(team, contestants), {k: str(v) for k, v in vars(args).items()}, refused=refused)
        measure(team, args, result, contestants, swept, dtypes, ops)
        if team.me == 0:
            print("\n".join([*columns.comparison(result), *columns.tail(result)]), flush=True)
            if args.output:
                result.write(args.output)
            if args.plot and result.rows:
                plot.draw(result, args.plot)
        wrong = any(row.wrong for row in result.rows)
        return 1 if wrong else 2 if not result.rows else 0


def measure(team: Team, args: Any, result: Result, contestants: Any, swept: Any, dtypes: Any, ops: Any) -> None:
    """Fill ``result`` and print a line for every contestant and size.  Collective."""
    case = CASES[args.case]
    effort = Effort(args.iters or CALLS, args.warmup_iters, args.budget_ms, exact=args.iters > 0)
    graph = team.backend == "cuda" and not args.eager
    options = Options(args.root, effort, graph, bool(args.check), args.place != "in", args.place != "out")
    seed = team.comm.bcast(secrets.randbits(48) if team.me == 0 else None)
    result.facts["seed"] = seed
    width = max(len(one.name) for one in contestants)
    progress = Progress(len(swept) * len(dtypes) * len(ops), team.me == 0 and not args.quiet)
    if team.me == 0:
        print("\n".join([f"# {name}: {value}" for name, value in result.facts.items()] + columns.head(width)))
    for dtype_name in dtypes:
        for op in ops:
            runner = Run(team, case, DTYPES[dtype_name], op, options, seed)
            able = []
            for one in contestants:
                why = one.refuse(case, DTYPES[dtype_name], op)
                if why:
                    result.refused[one.name] = why
                else:
                    able.append(one)
            for nbytes in swept:
                progress.step(f"{sizes.show(nbytes)} {dtype_name} {op}")
                forms = [runner.measure(able, nbytes, in_place) for in_place in (False, True)]
                result.rows += [row for rows in forms for row in rows if row]
                if team.me == 0:
                    progress.clear()
                    lines = [columns.line(out, own, width) for out, own in zip(*forms, strict=True) if out or own]
                    print(*lines, sep="\n", end="\n" if lines else "", flush=True)
            if not result.rails:
                result.rails = rails.carried(team, runner, able, swept[-1], case, args.root, op)
            if not result.host_us and graph:
                result.host_us = host_costs(team, runner, contestants, swept[0], case, args.root, op)
    progress.clear()


def host_costs(team: Team, runner: Run, contestants: Any, nbytes: int, case: Any, root: int, op: str) -> dict[str, float]:
    """{contestant: us of host time of one call launched by itself} at one size.  Collective."""
    cost = {}
    stream = team.stream()
    for one in contestants:
        block = case.block(nbytes, runner.dtype.item_bytes, team.n_pes)
        in_place = not one.has(case, False)
        if one.on_device and block and not one.refuse(case, runner.dtype, op):
            source, target = runner.buffers(one, block, in_place)
            cost[one.name] = host_cost_us(team, one.call(case, source, target, op, root), stream)
            if case.name == "allreduce" and one.name == columns.OURS:
                cost[f"{one.name} plan"] = host_cost_us(team, team.plan_allreduce(source, target, op), stream)
    return cost


def chosen(text: str, known: Any, what: str, other_names: dict[str, str]) -> list[str]:
    """The names of a list such as "float,int8" or "all".  Raises ValueError for an unknown one."""
    if text == "all":
        return list(known)
    found = [other_names.get(name, name) for name in names_argument(text)]
    for name in found:
        if name not in known:
            raise ValueError(f"{what} {name!r} is unknown: use all, or some of {', '.join(known)}")
    return found


def facts(team: Team, contestants: Any) -> dict[str, Any]:
    """What is measured on what."""
    return {
        "pennympi": __version__,
        "backend": team.backend,
        "PEs": team.n_pes,
        **dict(team.describe()),
        **{one.name: one.version for one in contestants if one.name in RIVALS},
        "Python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d"),
        "command": "python -m pennympi " + " ".join(sys.argv[1:]),
    }


def wrong_argument(error: Exception | None) -> int:
    """Say it, once."""
    from mpi4py import MPI

    if error is not None and MPI.COMM_WORLD.rank == 0:
        print(f"python -m pennympi bench: {error}", file=sys.stderr, flush=True)
    return 2
