"""simulate: a program on a team of simulated PEs, under schedules and networks that seek its faults."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from .arrays.dtypes import is_int
from .errors import Unsupported
from .state import state

if TYPE_CHECKING:
    from .simulator.schedule import Schedule
    from .team import Team

MOST_PES = 16


def simulate(program: Callable[[Team], Any], n_pes: int = 4, seconds: float = 20.0, seed: str | None = None) -> int:
    """Run a program repeatedly, each time with another order of everything that the rules leave unordered.

    program: called with a team on each PE, all in this process, without mpirun.  Arrays are NumPy's, and kernels run as
             plain Python, in several blocks and warps.  The work of streams runs late; stores through pointers
             and messages arrive in changed order.  The program's result must not depend on the time, or on other numbers
             from outside
    n_pes:   PEs of the team, at most 16;  seconds: time of the search for faults
    seed:    None: a new seed;  the seed of an error: only the schedule of this error

    Returns the number of schedules.  Raises the first fault, a PennympiError that names both lines and the seed: an
    access outside its array; two accesses to the same bytes that nothing orders, such as a put and a read, two puts, or
    two signals to a word; a wait that nothing ends, with the waits of all PEs; a signal for which no PE waited;
    different calls on two PEs; a result of the program, or the final content of a symmetric array, that differs from
    that of another schedule.  Raises the exceptions of the program, TypeError, ValueError, and Unsupported if greenlet
    is not installed.
    """
    if not callable(program):
        raise TypeError(f"program is a function of a team, and {type(program).__name__} is none")
    if not is_int(n_pes) or not 1 <= n_pes <= MOST_PES:
        raise ValueError(f"n_pes {n_pes!r} is not an int from 1 to {MOST_PES}")

    def on_pe() -> Any:
        team = state.simulation.init()
        result = program(team)
        team.finalize()
        return result

    return simulate_program(on_pe, n_pes, seconds, seed)


def simulate_program(on_pe: Callable[[], Any], n_pes: int, seconds: float, seed: str | None) -> int:
    """``simulate`` for a function that runs on each PE and calls ``init`` itself."""
    if state.simulation is not None:
        raise Unsupported("a program that is simulated calls simulate: call it once, outside")
    try:
        from .simulator.schedule import run_schedules
    except ModuleNotFoundError as error:
        if error.name != "greenlet":
            raise
        raise Unsupported("simulate needs greenlet: pip install greenlet") from None
    return run_schedules(lambda schedule: _run(schedule, on_pe), n_pes, seconds, seed)


def _run(schedule: Schedule, on_pe: Callable[[], Any]) -> None:
    """Run a schedule.  Only the first schedule prints."""
    from .team import Team

    mpi: Any = MPI
    world, schedule.make_team = mpi.COMM_WORLD, Team
    output: Any = nullcontext() if schedule.is_shown else redirect_stdout(StringIO())
    state.simulation, mpi.COMM_WORLD = schedule, schedule.comm
    try:
        with output:
            schedule.run(on_pe)
    finally:
        state.simulation, mpi.COMM_WORLD = None, world
