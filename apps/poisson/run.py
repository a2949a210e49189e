"""The program, from its arguments to its exit status."""

import sys
import time
from argparse import Namespace
from contextlib import nullcontext
from typing import Any

from mpi4py import MPI

import pennympi

from ..program.device import to_numpy
from ..program.outcome import FAILED, INTERRUPTED, Outcome
from ..program.printing import complain, lost, say
from ..program.progress import Progress
from ..program.run_on_pe0 import run_on_pe0
from ..program.whole_files import in_words
from . import cli, plot, verify
from .checkpoints import Checkpoints
from .problem import Problem
from .solver import Solver
from .storage import save
from .variants import TABLE

ENDINGS = {
    "converged": "the residual is at most --tol",
    "iterations": "all that were asked for",
    "diverged": "DIVERGED: the residual is not finite, or far too large",
    "interrupted": "INTERRUPTED by a signal",
}
HEAP_SPARE_BYTES = 64 << 20  # for the library, beside the fields
DEFAULT_HEAP_FIELD_BYTES = 64 << 20  # the largest fields that the default heap is used for
FIELDS = 7  # at most


def program(comm: Any, argv: list[str] | None) -> int:
    """Run with these arguments (None: the command line's) and return the exit status.  Collective."""
    options, problem = cli.parse(comm, argv)
    try:
        team = pennympi.init(comm, backend=options.backend, heap_bytes=heap_bytes(problem, comm.size))
    except (pennympi.Unsupported, pennympi.SymmetricHeapExhausted) as error:
        cli.fail(comm, str(error))
    with team:
        reason = TABLE[options.variant].refuse(team, problem)
        if reason := next((one for one in comm.allgather(reason) if one), ""):
            team.finalize()
            cli.fail(comm, f"--variant {options.variant} cannot run here: {reason}")
        try:
            solver = Solver(team, problem, options.variant)
        except (ValueError, pennympi.SymmetricHeapExhausted) as error:  # the same on all PEs
            team.finalize()
            cli.fail(comm, str(error))
        return Run(solver, options).status()


def heap_bytes(problem: Problem, n_pes: int) -> int | None:
    """Size of a PE's symmetric heap; None, which is the library's default, for small fields."""
    fields = FIELDS * 2 * problem.points * problem.item_bytes // n_pes  # twice: uneven parts, and halos
    if problem.preconditioner == "multigrid":  # whose coarser levels every PE has whole
        fields += 2 * problem.points * problem.item_bytes
    return None if fields <= DEFAULT_HEAP_FIELD_BYTES else fields + HEAP_SPARE_BYTES


class Run:
    """One run.  All methods are collective."""

    def __init__(self, solver: Solver, options: Namespace):
        self.solver, self.options, self.team = solver, options, solver.team
        self.outcome = options.saved.outcome if options.saved else Outcome()
        self.began_at = self.outcome.iterations

    def say(self, *lines: str) -> None:
        """Print on PE 0."""
        if self.team.me == 0:
            say(*lines)

    def status(self) -> int:
        """Do everything that the options ask for.  Returns the exit status, the same on every PE."""
        solver, outcome, options = self.solver, self.outcome, self.options
        if options.saved:
            options.saved.resume(solver)
            self.say(f"Going on from iteration {self.began_at} of {options.restart}")
        else:
            solver.set_f(options.f(solver.grid))
        seconds = self._solve()
        if outcome.reason == "interrupted":
            self.say(f"Interrupted after {outcome.iterations} iterations: go on with --restart {options.checkpoint}")
            return INTERRUPTED
        self._report(seconds)
        complaints = self._write()
        passed = True
        if options.verify and outcome.reason != "diverged":
            passed, line, _ = verify.judge(solver)
            self.say(f"{'PASS' if passed else 'FAIL'}: {line}")
        if self.team.me == 0:
            for complaint in complaints:
                complain(complaint)
        failed = self.team.comm.allreduce(bool(complaints) or not passed or lost(), op=MPI.LOR)
        solver.free()
        return FAILED if failed else outcome.status(options.must_converge)

    def _solve(self) -> float:
        """Solve.  Returns the seconds of the slowest PE, without checkpoints."""
        solver, outcome, options, problem = self.solver, self.outcome, self.options, self.solver.problem
        niter = -(-problem.niter // problem.check) * problem.check
        progress = Progress(problem.points, niter, done=self.began_at) if self.team.me == 0 else None
        checkpoints = None
        if options.checkpoint:
            checkpoints = Checkpoints(self.team, options.checkpoint, options.checkpoint_seconds)
        spent_s = 0.0
        with checkpoints or nullcontext():
            while outcome.iterations < niter and outcome.reason == "iterations":
                begin_s = time.perf_counter()
                solver.run(outcome, outcome.iterations + problem.check if checkpoints else niter, self._shown(progress))
                spent_s += time.perf_counter() - begin_s
                if checkpoints:
                    checkpoints.attend(solver, outcome)
            if checkpoints and outcome.reason in ("iterations", "converged"):
                checkpoints.save(solver, outcome)
        if progress:
            progress.close()
        return float(self.team.comm.allreduce(spent_s, op=MPI.MAX))

    def _shown(self, progress: Progress | None) -> Any:
        return (lambda iterations, norm: progress(iterations - 1, norm)) if progress else None

    def _report(self, seconds: float) -> None:
        solver, outcome, problem = self.solver, self.outcome, self.solver.problem
        iterations = max(outcome.iterations - self.began_at, 1)
        each_s = seconds / iterations
        norm = f", residual {outcome.history[-1][1]:.3e}" if outcome.history else ""
        shape, pes = ("x".join(map(str, one)) for one in (problem.shape, solver.grid.dims))
        n = self.team.n_pes
        self.say(
            f"{shape} of {problem.dtype} on {n} PE{'s' if n > 1 else ''} ({pes}, {self.team.backend}), "
            f"variant {solver.variant}, preconditioner {problem.preconditioner}",
            f"Stopped after {outcome.iterations} iterations ({ENDINGS[outcome.reason]}){norm}",
            f"{seconds:.4f} s, {1e6 * each_s:.1f} us an iteration, {problem.points / each_s / 1e9:.4f} GLUP/s",
        )

    def _write(self) -> list[str]:
        """Write u and the picture.  Returns on PE 0 why one could not be written."""
        solver, outcome, options, problem = self.solver, self.outcome, self.options, self.solver.problem
        complaints: list[str] = []
        if not (options.output or options.plot):
            return complaints
        if options.output:
            if error := save(solver, outcome, options.output, state=False):
                complaints.append(f"--output {options.output} could not be written: {error}")
        if options.plot:
            solver.fields.set("r", solver.u())
            self.team.synchronize()
            u = solver.grid.gather(solver.fields["r"])

            def draw() -> None:
                ended = {"iterations": "not converged"}.get(outcome.reason, outcome.reason)
                title = f"{'x'.join(map(str, problem.shape))}, {ended} after {outcome.iterations} iterations"
                try:
                    plot.draw(options.plot, problem, to_numpy(u), outcome.history, title)
                except Exception as error:  # of many types; a picture must not cost the result
                    complaints.append(f"--plot {options.plot} could not be written: {in_words(error)}")

            run_on_pe0(self.team.comm, draw)
        if self.team.me == 0 and not complaints:
            written = [str(path) for path in (options.output, options.plot) if path]
            say(f"Written: {', '.join(written)}", file=sys.stdout)
        return complaints
