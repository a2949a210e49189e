"""simulate: a program on a team of simulated PEs, under schedules and networks that do their worst."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Callable
from contextlib import nullcontext, redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from .errors import Unsupported
from .state import state

if TYPE_CHECKING:
    from .simulator.schedule import Schedule
    from .team import Team

Program = Callable[["Team"], Any]


def simulate(program: Program, n_pes: int = 4, seconds: float = 20.0, seed: str | None = None) -> int:
    """Run a program again and again, each time with another order of all that the rules leave open.

    program: called with a team on each PE, all in this process.  Arrays are NumPy's, kernels run as plain Python with
             several blocks and warps, streams and puts are late, stores through pointers and messages change their
             order.  It takes no number from outside, such as the time
    n_pes:   PEs of the team;  seconds: to look for faults
    seed:    None: a new one;  what an error names: that schedule alone

    Returns the number of schedules.  Raises the first fault, with both lines and the seed that repeats it: an access
    outside an array; two accesses of the same bytes that nothing orders, such as a put and a read, two puts, or a signal
    word that is used twice; a wait that nothing ends; a signal that nobody waited for; other calls on another PE; a
    result of the program, or a symmetric array at its end, that another schedule does not have; and what the program
    raises.  Raises Unsupported where greenlet is not installed.
    """
    if state.simulation is not None:
        raise Unsupported("simulate is called by a program that is simulated: call it once, outside")
    try:
        from .simulator.schedule import MOST_PES, run_schedules
    except ModuleNotFoundError as error:
        if error.name != "greenlet":
            raise
        raise Unsupported("simulate needs greenlet: pip install 'pennympi[simulate]'") from None
    if not callable(program):
        raise TypeError(f"program is a function of a team, and {type(program).__name__} is none")
    if not isinstance(n_pes, int) or not 1 <= n_pes <= MOST_PES:
        raise ValueError(f"n_pes {n_pes!r} is not an int from 1 to {MOST_PES}")

    def on_pe(schedule: Schedule) -> Any:
        team = schedule.init()
        result = program(team)
        team.finalize()
        return result

    return run_schedules(lambda schedule: running(schedule, on_pe), n_pes, seconds, seed)


def simulate_script(path: str, arguments: list[str], n_pes: int, seconds: float, seed: str | None) -> int:
    """``simulate`` of a script that calls ``pennympi.init``, run once on each PE."""
    from .simulator.schedule import run_schedules

    def on_pe(schedule: Schedule) -> None:
        try:
            runpy.run_path(path, run_name="__main__")
        except SystemExit as end:
            if end.code not in (None, 0):
                raise RuntimeError(f"{path} exits with {end.code}") from None

    before = sys.argv, list(sys.path)
    sys.argv = [path, *arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    try:
        return run_schedules(lambda schedule: running(schedule, on_pe), n_pes, seconds, seed)
    finally:
        sys.argv, sys.path[:] = before


def running(schedule: Schedule, on_pe: Callable[[Schedule], Any]) -> None:
    """Run one schedule.  The output of all but the first is dropped."""
    from .team import Team

    schedule.make_team = Team
    mpi: Any = MPI
    world = mpi.COMM_WORLD
    quiet: Any = nullcontext() if schedule.number == 0 or schedule.is_repeated else redirect_stdout(StringIO())
    state.simulation = schedule
    mpi.COMM_WORLD = schedule.comm
    try:
        with quiet:
            schedule.run(lambda: on_pe(schedule))
    finally:
        state.simulation = None
        mpi.COMM_WORLD = world
