"""Print the versions, the devices of all PEs, and the algorithms that can run."""

import argparse
import platform
import textwrap
from importlib.metadata import version
from itertools import groupby

import mpi4py
from mpi4py import MPI

from .. import __version__
from ..bench.baselines.mpi import library_version
from ..collectives.allreduce import AllReduce
from ..collectives.base import Collective
from ..collectives.calls import ALL
from ..kernels.exchange import TABLE as FORMS
from ..start import why_no_cuda
from ..team import Team
from .exit_status import show, started

HELP = "report the versions, devices and algorithms (the default command)"
COLLECTIVES: tuple[type[Collective], ...] = (AllReduce, *ALL)
TABLES = {collective.__name__: collective.table for collective in COLLECTIVES}
COLUMNS, INDENT, MOST_RUNS = 100, 16, 8  # width of the screen; indent of continued lines; most lines of the map of PEs


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    text = "print a line for each algorithm: what it does, or why it can't run (default: names)"
    parser.add_argument("--algorithms", action="store_true", help=text)


def report(team: Team, hosts: list[tuple[str, str]]) -> str:
    """The report, at most a screen of text.  hosts: (host, device) of each PE"""
    no_cuda, (major, minor) = why_no_cuda(), MPI.Get_version()
    tuned = team._selection.tuned
    entries = [
        ("pennympi", f"{__version__}, Python {platform.python_version()}, Numba {version('numba')}"),
        ("MPI", f"{library_version()} (MPI {major}.{minor}), mpi4py {mpi4py.__version__}"),
        ("backend", team.backend + (f" (no cuda backend: {no_cuda})" if team.backend == "host" and no_cuda else "")),
        *team.describe(),
        *pe_map(hosts),
        ("choice", tuned.source if tuned else "by predicted times: python -m pennympi tune measures them"),
    ]
    for name, table in TABLES.items():
        reasons = {row.name: row.why_not(team.pe_topology, "float32", "sum") for row in table.values()}
        able = ", ".join(name for name, reason in reasons.items() if not reason)
        unable = ", ".join(name for name, reason in reasons.items() if reason)
        entries.append((name, able + (f"; not here: {unable}" if unable else "")))
    entries.append(("exchange", ", ".join(FORMS)))
    return "\n".join(line for name, text in entries for line in wrapped(name, text))


def wrapped(name: str, text: str) -> list[str]:
    """An entry in lines of at most COLUMNS characters."""
    return textwrap.wrap(f"{name:{INDENT - 1}s} {text}", COLUMNS, subsequent_indent=" " * INDENT, break_on_hyphens=False)


def pe_map(hosts: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """(PEs, place) of runs of PEs with the same host and kind of device; the first MOST_RUNS of them."""
    runs: list[tuple[str, str]] = []
    begin = 0
    for (host, device), run in groupby(hosts):
        end = begin + len(list(run)) - 1
        runs.append((f"PE {begin}" if end == begin else f"PE {begin} to {end}", f"{host}: {device}"))
        begin = end + 1
    more = [("", f"and {len(runs) - MOST_RUNS} more lines of PEs")] if len(runs) > MOST_RUNS else []
    return runs[:MOST_RUNS] + more


def algorithms(team: Team) -> str:
    """Every algorithm, with its sentence or the reason why it can't run on this team."""
    lines = []
    for name, table in TABLES.items():
        lines.append(name)
        for row in table.values():
            reason = row.why_not(team.pe_topology, "float32", "sum")
            lines.append(f"  {row.name:20s} {f'not here: {reason}' if reason else row.sentence}")
    return "\n".join([*lines, "exchange", *(f"  {form.name:20s} {form.sentence}" for form in FORMS.values())])


def run(args: argparse.Namespace) -> int:
    """Print the report on PE 0.  Collective."""
    with started() as team:
        hosts = team.gather((platform.node(), team.device_name))
        show(algorithms(team) if args.algorithms else report(team, hosts))
    return 0
