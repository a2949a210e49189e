"""The program, from its arguments to its exit status."""

import sys
from typing import Any

import pennympi

from ...program.arguments import fail
from ...program.outcome import DONE, FAILED
from ...program.printing import lost, say
from ..timing.wall import Wall
from ..variants import row_of
from ..variants.memory import heap_bytes
from ..verify import checks
from . import cli, dry_run, room
from .run import Run


def program(comm: Any, wall: Wall, argv: list[str] | None) -> int:
    """Run with these arguments (None: the command line's) and return the exit status.  Collective."""
    options, problem = cli.parse(comm, argv)
    dry = options.dry_run is not None
    heap = None if dry else heap_bytes(problem, comm.size, options.variant)
    if not dry and (reason := room.shortage(comm, options, problem)):
        fail(comm, reason)
    wall.lap("command line")
    try:
        team = pennympi.init(comm, backend=options.backend, heap_bytes=heap)
    except (pennympi.Unsupported, pennympi.SymmetricHeapExhausted) as error:
        fail(comm, str(error))
    wall.lap("pennympi.init")
    with team:
        if dry:
            lines = dry_run.lines(team, problem, options.dry_run or comm.size, options.variant)
            if team.me == 0:
                say(*lines)
            return FAILED if comm.bcast(lost()) else DONE
        check = checks.TABLE[options.verify]() if options.verify else None
        row = row_of(problem, options.variant)
        reason = row.refuse(team, problem) and f"--variant {row.name} cannot run here: {row.refuse(team, problem)}"
        if check and not reason:
            reason = check.refuse(team, problem) and f"--verify {options.verify}: {check.refuse(team, problem)}"
        if reason := next((one for one in comm.allgather(reason) if one), ""):
            team.finalize()
            fail(comm, reason)
        status = Run(team, options, problem, check, wall).status()
    wall.lap("end of the team")
    if options.timings:
        lines = wall.lines(comm)
        if comm.rank == 0:
            say(*lines, file=sys.stderr)
    return status
