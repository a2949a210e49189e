"""Solve a Laplace problem on every PE of an MPI job:

    mpirun -np 4 python -m apps.jacobi
    mpirun -np 16 python -m apps.jacobi --nx 512 --ny 512 --niter 200 --verify
    mpirun -np 4 python -m apps.jacobi --output field.h5 --plot field.png --json run.json
    mpirun -np 4 python -m apps.jacobi --backend cuda --nx 16384 --ny 16384 --nccheck 100

The same from an installed package: mpirun -np 4 python -m pennympi.apps.jacobi
"""

import json
import sys
import time
from argparse import Namespace
from typing import Any

from mpi4py import MPI

import pennympi

from . import cli, measure, report
from .files import FieldFile, write_text
from .gather import gather
from .outcome import Outcome
from .plot import Picture
from .problem import Problem
from .progress import Progress
from .serial import Serial, SerialTime
from .solver import Solver
from .variants import TABLE
from .verify import FieldCheck, verdict
from .waiting import alone

DONE, FAILED, DIVERGED = 0, 1, 3
LIBRARY_HEAP_BYTES = 256 << 20  # beside the fields, when they are too large for the default heap
DEFAULT_HEAP_HOLDS_BYTES = 64 << 20


def heap_bytes(problem: Problem, n_pes: int, variant: str) -> int | None:
    """Symmetric heap of a PE; None, the library's default, for small fields."""
    need = TABLE[variant].symmetric_bytes(problem, n_pes)
    return None if need <= DEFAULT_HEAP_HOLDS_BYTES else need + LIBRARY_HEAP_BYTES


def time_serial(team: Any, problem: Problem, quiet: bool) -> SerialTime | None:
    """PE 0 alone solves the whole problem (or a part of it) while the others sleep."""
    serial = Serial(team, problem)

    def work() -> SerialTime | None:
        if not serial.fits():
            return None
        if not quiet:
            print(report.single_header(problem, serial.sweeps()), flush=True)
        return serial.time(not quiet, Progress(problem, serial.sweeps(), norms=not quiet, pace=False))

    return team.comm.bcast(alone(team.comm, work))


def timed_run(solver: Solver, quiet: bool) -> tuple[Outcome, float]:
    """The solve and its seconds, warm: kernels compiled, collectives used once."""
    team, problem = solver.team, solver.problem
    solver.reset()
    solver.warm_up()
    solver.reset()
    talks = team.me == 0 and not quiet
    if talks:
        print(report.header(problem), flush=True)
    team.comm.Barrier()
    start = time.perf_counter()
    outcome = solver.run(show=not quiet, on_norm=Progress(problem, problem.niter) if talks else None)
    return outcome, team.comm.allreduce(time.perf_counter() - start, op=MPI.MAX)


def write_results(solver: Solver, options: Namespace, outcome: Outcome, check: FieldCheck | None) -> None:
    """One pass over the field for all that want it."""
    problem, on_pe0 = solver.problem, solver.team.me == 0
    wanted = solver.team.comm.bcast(bool(options.output or options.plot or check))
    if not wanted:
        return
    output = FieldFile(options.output, problem) if options.output and on_pe0 else None
    picture = Picture(problem) if options.plot and on_pe0 else None
    try:
        gather(solver, [sink for sink in (output, picture, check) if sink])
        if output:
            facts = {"iterations": outcome.iterations, "reason": outcome.reason, "bc": problem.bc, "tol": problem.tol}
            output.finish(facts, outcome.history)
    except BaseException:
        if output:
            output.discard()
        raise
    if picture:
        title = f"{problem.ny} x {problem.nx}, {outcome.iterations} sweeps"
        picture.draw(options.plot, outcome.history, title)


def solve(team: Any, options: Namespace, problem: Problem) -> int:
    """The whole run; the exit status, the same on every PE."""
    serial = time_serial(team, problem, options.csv)
    solver = Solver(team, problem, options.variant)
    outcome, runtime_s = timed_run(solver, options.csv)
    timing = report.Timing(runtime_s, serial, measure.copy_bandwidth(solver), measure.exchange_seconds(solver))
    check = alone(team.comm, lambda: FieldCheck(problem, outcome.iterations)) if options.verify else None
    write_results(solver, options, outcome, check)
    status = DIVERGED if outcome.reason == "diverged" else DONE
    judged = alone(team.comm, lambda: verdict(problem, outcome, check) if check else (True, None, []))
    if judged:
        passed, verification, lines = judged
        if not passed:
            status = FAILED
        if not options.csv:
            lines = report.full(problem, team.n_pes, outcome, timing) + lines
        elif passed:
            lines = [report.csv_line(problem, team.n_pes, timing)]
        print(*lines, sep="\n", file=sys.stdout if passed else sys.stderr, flush=True)
        if options.json:
            text = json.dumps(report.as_dict(problem, team, outcome, timing, verification), indent=1)
            write_text(options.json, text + "\n")
    return team.comm.bcast(status)


def main(argv: list[str] | None = None) -> int:
    """Run with these arguments (default: the command line's)."""
    comm = MPI.COMM_WORLD
    options, problem = cli.parse(comm, argv)
    try:
        team = pennympi.init(comm, backend=options.backend, heap_bytes=heap_bytes(problem, comm.size, options.variant))
    except (pennympi.Unsupported, pennympi.SymmetricHeapExhausted) as error:
        cli.fail(comm, str(error))
    with team:
        reason = TABLE[options.variant].refuse(team, problem)
        if not reason:
            return solve(team, options, problem)
    cli.fail(comm, f"--variant {options.variant} cannot run here: {reason}")


if __name__ == "__main__":
    sys.exit(main())
