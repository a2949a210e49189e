"""Print the versions, the devices of all PEs, and the algorithms that can run."""

import argparse
import platform
from importlib.metadata import version

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


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options: none."""


def report(team: Team, hosts: list[tuple[str, str]]) -> str:
    """The report, several lines of text.  hosts: (host, device) of each PE"""
    no_cuda, (major, minor) = why_no_cuda(), MPI.Get_version()
    facts = [
        ("pennympi", f"{__version__}, Python {platform.python_version()}, Numba {version('numba')}"),
        ("MPI", f"{library_version()} (MPI {major}.{minor}), mpi4py {mpi4py.__version__}"),
        ("backend", team.backend + (f" (no cuda backend: {no_cuda})" if team.backend == "host" and no_cuda else "")),
        *team.describe(),
    ]
    lines = [f"{name:20s} {value}" for name, value in facts]
    lines += ["", f"PE map: {team.n_pes} PE{'s' if team.n_pes > 1 else ''}"]
    lines += [f"  PE {pe:<4d} {host:24s} {device}" for pe, (host, device) in enumerate(hosts)]
    collectives: tuple[type[Collective], ...] = (AllReduce, *ALL)
    for collective in collectives:
        lines += ["", f"{collective.__name__} algorithms"]
        for one in collective.table.values():
            reason = one.why_not(team.pe_topology, "float32", "sum")
            lines.append(f"  {one.name:18s} {f'cannot run here: {reason}' if reason else f'runs here; {one.sentence}'}")
    lines += ["", "exchange forms", *(f"  {form.name:18s} {form.sentence}" for form in FORMS.values())]
    return "\n".join(lines)


def run(args: argparse.Namespace) -> int:
    """Print the report on PE 0.  Collective."""
    with started() as team:
        show(report(team, team.gather((platform.node(), team.device_name))))
    return 0
