"""A run of the program: solve, write, verify, report."""

import sys
import time
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mpi4py import MPI

import pennympi

from ..program.arguments import fail
from ..program.device import processors
from ..program.outcome import FAILED, Outcome
from ..program.run_on_pe0 import run_on_pe0
from . import hidden, report, serial, storage, timeline, verify
from .options import GPU_SIZE, parse
from .plot import draw, sampled
from .solver import OnNorm, Solver, SweepBySweep, has_exchange
from .variants import heap_bytes, make_solver


def program(comm: Any, argv: list[str] | None) -> int:
    """Run with these arguments (None: those of the command line).  Returns the exit status.  Collective."""
    options, problem, outcome = parse(comm, argv)
    try:
        team = pennympi.init(comm, backend=options.backend, heap_bytes=heap_bytes(problem, comm.size))
    except (pennympi.Unsupported, pennympi.SymmetricHeapExhausted, ValueError) as error:
        fail(comm, str(error))
    with team:
        if team.backend == "cuda" and not options.restart:
            sizes: dict[str, Any] = {name: GPU_SIZE for name in ("nx", "ny") if not hasattr(options, name)}
            problem = replace(problem, **sizes)
        why = verify.TABLE[options.verify].why_not(team, problem) if options.verify else ""
        wrong = next((f"--verify {options.verify}: {reason}" for reason in team.gather(why) if reason), "")
        try:
            solver = None if wrong else make_solver(team, problem, options.variant)
        except (pennympi.SymmetricHeapExhausted, ValueError) as error:
            solver, wrong = None, str(error)
        if solver is None:
            team.finalize()
            fail(comm, wrong)
        try:
            return _run(solver, options, outcome)
        except storage.Unreadable as error:
            team.finalize()
            fail(comm, f"--restart {options.restart}: {error}", FAILED)


def _run(solver: Solver, options: Namespace, outcome: Outcome) -> int:
    """Run after the checks.  Returns the exit status, the same on every PE.  Collective."""
    team, problem = solver.team, solver.problem

    def say(*lines: str) -> None:
        if team.me == 0 and not options.csv:
            print(*lines, sep="\n", flush=True)

    def on_norm(iteration: int, norm: float) -> None:
        say(report.norm_line(iteration, norm))

    began_at, show = outcome.iterations, not options.csv
    sweep_s, serial_variant = 0.0, ""
    if not options.no_serial:
        sweep_s, serial_variant = _time_serial(solver, options.variant, show, on_norm, say)
    solver.warm_up(show)
    units, hidden_line = processors(team), ""
    if isinstance(solver, SweepBySweep) and has_exchange(type(solver)):
        if show and not options.no_serial and 1 < team.n_pes <= units.number:
            hidden_line = hidden.line(solver)
        if options.timeline:
            work, title = timeline.spans(solver), f"{options.variant}, {problem.ny} x {problem.nx}, PE 0 of {team.n_pes}"
            run_on_pe0(team.comm, lambda: timeline.draw(options.timeline, title, work))
    if options.restart:
        storage.resume(solver, options.restart)
        say(f"Continuing from iteration {began_at} of {options.restart}")
    else:
        solver.reset()
    say(report.header(problem, problem.niter), *filter(None, [solver.engine_line]))
    runtime_s = _solve(solver, options, outcome, show, on_norm)
    sweeps = outcome.iterations - began_at
    serial_s = sweep_s * sweeps
    if serial_s:
        names = serial_variant, options.variant
        say(*report.nvidia_lines(problem, team.n_pes, units, runtime_s, serial_s, names))
    say(*filter(None, [hidden_line]), report.ending(problem, outcome, runtime_s, sweeps))
    complaint = storage.save(solver, outcome, options.output) if options.output else ""
    if options.plot:
        rows, ended = sampled(solver), {"iterations": "not converged"}.get(outcome.reason, outcome.reason)
        title = f"{problem.ny} x {problem.nx}, {ended} after {outcome.iterations} sweeps"
        run_on_pe0(team.comm, lambda: draw(options.plot, problem, rows, outcome.history, title))
    judged = options.verify and outcome.reason != "diverged"
    verdict = verify.TABLE[options.verify].judge(solver, outcome) if judged else None
    passed = verdict is None or verdict.passed
    if team.me == 0:
        if options.csv and passed:
            print(report.csv_line(problem, team.n_pes, runtime_s, serial_s), flush=True)
        if verdict and (not options.csv or not passed):
            line = f"{'PASS' if passed else 'FAIL'}: {verdict.line}"
            print(line, file=sys.stdout if passed else sys.stderr, flush=True)
        if complaint:
            print(f"error: --output {options.output} could not be written: {complaint}", file=sys.stderr, flush=True)
    solver.free()
    return outcome.status() if passed and not complaint else FAILED


def _time_serial(
    solver: Solver, variant: str, show: bool, on_norm: OnNorm, say: Callable[..., None]
) -> tuple[float, str]:
    """(seconds of a sweep on PE 0 while the other PEs sleep, the variant's name); (0.0, "") if memory is too small.

    Collective.
    """
    team, problem = solver.team, solver.problem
    if not serial.reserve(team, problem):
        return 0.0, ""

    def work() -> tuple[float, str]:
        sweeps = problem.niter if team.backend == "cuda" else min(problem.niter, serial.HOST_SWEEPS)
        say(report.header(problem, sweeps, f"Single {'GPU' if team.backend == 'cuda' else 'PE'} jacobi"))
        alone = serial.solve(team, replace(problem, niter=sweeps), show, on_norm, variant=variant)
        return alone.seconds / alone.outcome.iterations, alone.variant

    return team.comm.bcast(run_on_pe0(team.comm, work))  # type: ignore[no-any-return]


def _solve(solver: Solver, options: Namespace, outcome: Outcome, show: bool, on_norm: OnNorm) -> float:
    """Sweep until the solve ends.  Returns the seconds of the sweeps on the slowest PE.  Collective."""
    comm, niter, seconds = solver.team.comm, solver.problem.niter, 0.0
    period = options.checkpoint_every if options.checkpoint else niter
    comm.Barrier()
    while outcome.reason == "iterations" and outcome.iterations < niter:
        start, done = time.perf_counter(), outcome.iterations
        solver.run(show, on_norm, outcome, min(niter, done - done % period + period))
        seconds += time.perf_counter() - start
        if options.checkpoint and outcome.reason != "diverged":
            complaint = storage.save(solver, outcome, options.checkpoint)
            if complaint and comm.rank == 0:  # a full disk costs a checkpoint, not the run
                print(f"error: --checkpoint {options.checkpoint} could not be written: {complaint}", file=sys.stderr)
    return float(comm.allreduce(seconds, op=MPI.MAX))
