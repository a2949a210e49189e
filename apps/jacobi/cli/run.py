"""One run of the program: solve, measure, write, verify, report."""

import json
import sys
from argparse import Namespace
from contextlib import nullcontext
from typing import Any

from mpi4py import MPI

from ...program.outcome import FAILED, INTERRUPTED, Outcome
from ...program.printing import complain, lost, say
from ...program.progress import Progress
from ...program.run_on_pe0 import run_on_pe0
from ...program.whole_files import in_words, write_text
from ..grid.problem import Problem
from ..norms_due import SHOW_EVERY
from ..report import closing, report
from ..report.plot import Picture
from ..solver import Solver
from ..storage import checkpoint, restart
from ..storage.save import save
from ..timing import measure, phases, profiled
from ..timing.serial import Serial, SerialTime
from ..timing.wall import Wall
from ..variants import row_of
from ..verify.checks import Check, Verdict

CHECKPOINT_S = 600.0


class Run:
    """One run on this PE.  All methods are collective."""

    def __init__(self, team: Any, options: Namespace, problem: Problem, check: Check | None, wall: Wall):
        self.team, self.options, self.problem, self.check, self.wall = team, options, problem, check, wall
        self.outcome = options.saved.outcome if options.saved else Outcome()
        self.outcome.reason, self.began_at = "iterations", self.outcome.iterations
        self.checkpoints: checkpoint.Checkpoints | None = None
        self.crowd = closing.crowd(team)

    def say(self, *lines: str) -> None:
        """Print on PE 0, but not under --csv, which prints one line only."""
        if self.team.me == 0 and not self.options.csv:
            say(*lines)

    def status(self) -> int:
        """Do everything that the options ask for.  Returns the exit status, the same on every PE."""
        options, outcome, lap = self.options, self.outcome, self.wall.lap
        self._compile()
        lap("kernels of the solver")
        serial, fastest = (None, None) if options.no_serial else self._time_serial()
        lap("the solve on one PE alone")
        solver = self._solver(self.team)
        lap("fields, norm and halo")
        runtime_s = self._solve(solver)
        if outcome.reason == "interrupted":
            self.say(f"Interrupted after {outcome.iterations} iterations: go on with --restart {options.checkpoint}")
            return INTERRUPTED
        sweeps = outcome.iterations - self.began_at
        unwritten = self._write(solver)
        lap("result files")
        verdict = self.check.judge(solver, outcome) if self.check and outcome.reason != "diverged" else None
        lap("verification")
        rates = measure.copy_bandwidth(solver), measure.exchange_seconds(solver)  # these overwrite fields
        solver.free()
        lap("measurement of a copy and of the exchange")
        spent = profiled.profile(self.team, self.problem, runtime_s / sweeps, self._solver)
        lap("profile of some sweeps")
        timing = report.Timing(runtime_s, sweeps, serial, fastest, *rates, spent)
        status = outcome.status(options.must_converge)
        if run_on_pe0(self.team.comm, lambda: self._report(timing, verdict, unwritten)):
            status = FAILED
        lap("report")
        return int(self.team.comm.bcast(status))

    def _solver(self, team: Any) -> Solver:
        return Solver(team, self.problem, self.options.variant, **self._settings())

    def _settings(self) -> dict[str, Any]:
        """Settings of the variant; None where the command line has none."""
        return {"norm_by": self.options.norm_by, "sweeps": self.options.sweeps}

    def _compile(self) -> None:
        """Compile the kernels of the solves beside the other PEs."""
        problem, show = self.problem, not self.options.csv
        of, settings = row_of(problem, self.options.variant).make.kernels, self._settings()
        kernels = of(self.team, problem, show, **settings) + of(self.team, problem, False, **settings)  # for the profile
        for serial in () if self.options.no_serial else self._serials():
            kernels += serial.kernels(show)
        self.team.compile(kernels)

    def _serials(self) -> list[Serial]:
        """The solves on one PE alone: by this run's kind of variant, and by the fastest one where that is another."""
        options, problem = self.options, self.problem
        like = Serial(self.team, problem, options.variant, sweeps=options.sweeps)
        if options.variant == "blocked" or problem.method != "jacobi":
            return [like]
        return [like, Serial(self.team, problem, "blocked")]

    def _time_serial(self) -> tuple[SerialTime | None, SerialTime | None]:
        """(time by this run's kind of variant, time by the fastest one) on PE 0 alone, while the others sleep."""
        problem, show = self.problem, not self.options.csv
        like, *other_kind = self._serials()

        def work() -> tuple[SerialTime | None, SerialTime | None]:
            if not like.fits():
                return None, None
            self.say(report.single_header(problem, like.sweeps()))
            progress = Progress(problem.points, like.sweeps(), SHOW_EVERY if show else 0, pace=show)
            time = like.time(show, progress)
            progress.close()
            if not (other_kind and other_kind[0].fits()):
                return time, time
            progress = Progress(problem.points, like.sweeps(), pace=show)
            other = other_kind[0].time(False, progress)
            progress.close()
            return time, time if time.runtime_s <= other.runtime_s else other

        return self.team.comm.bcast(run_on_pe0(self.team.comm, work))

    def _solve(self, solver: Solver) -> float:
        """Solve after a warm-up.  Returns the seconds spent in sweeps, of the slowest PE."""
        team, options, outcome = self.team, self.options, self.outcome
        show = not options.csv
        solver.reset()
        solver.warm_up(show)
        if options.saved:
            restart.resume(solver, options.saved)
            options.saved.close()
        else:
            solver.reset()
        self.wall.lap("warm-up, and the start of the fields")
        self.say(report.header(self.problem))
        if self.began_at:
            self.say(f"Going on from iteration {self.began_at} of {options.restart}")
        if options.checkpoint:
            every_s = CHECKPOINT_S if options.checkpoint_seconds is None else options.checkpoint_seconds
            every = options.checkpoint_every or 0
            self.checkpoints = checkpoint.Checkpoints(team, self.problem, options.checkpoint, every, every_s)
        points, niter = self.problem.points, self.problem.niter
        progress = Progress(points, niter, SHOW_EVERY, done=self.began_at) if team.me == 0 and show else None
        team.comm.Barrier()
        with self.checkpoints or nullcontext():
            seconds = checkpoint.run(solver, outcome, self.checkpoints, show, progress)
        if progress:
            progress.close()
        self.wall.lap("sweeps")
        return team.comm.allreduce(seconds, op=MPI.MAX)

    def _write(self, solver: Solver) -> list[str]:
        """Write the field and the picture.  Returns on PE 0 why one could not be written."""
        options, problem, outcome = self.options, self.problem, self.outcome
        if not (options.output or options.plot):
            return []
        picture = Picture(problem) if options.plot and self.team.me == 0 else None
        complaint = save(solver, outcome, options.output, [picture] if picture else [])
        complaints = [f"--output {options.output} could not be written: {complaint}"] if complaint else []

        def draw() -> None:
            ended = {"iterations": "not converged"}.get(outcome.reason, outcome.reason)
            title = f"{problem.ny} x {problem.nx}, {ended} after {outcome.iterations} sweeps"
            try:
                if picture:
                    picture.draw(options.plot, outcome.history, title, problem.tol)
            except Exception as error:  # of many types; a picture must not cost the result
                complaints.append(f"--plot {options.plot} could not be written: {in_words(error)}")

        run_on_pe0(self.team.comm, draw)
        return complaints

    def _report(self, timing: report.Timing, verdict: Verdict | None, complaints: list[str]) -> bool:
        """Print the report, write the JSON file, then print the complaints.  Returns whether anything failed."""
        options, problem, team = self.options, self.problem, self.team
        passed = verdict is None or verdict.passed
        if not options.csv:
            lines = report.full(problem, team.n_pes, self.outcome, timing) + self.crowd
            if self.checkpoints:
                lines.append(f"Checkpoints: {self.checkpoints.written} written in {self.checkpoints.seconds:.2f} s")
            if options.profile:
                lines += phases.table(timing.phases)
            unwritten = [complaint.split()[0] for complaint in complaints]
            names = {"--output": options.output, "--plot": options.plot}
            lines += closing.files({one: name for one, name in names.items() if name and one not in unwritten})
        else:
            lines = [report.csv_line(problem, team.n_pes, timing)] if passed else []
        if verdict and (not options.csv or not passed):
            lines.append(f"{'PASS' if passed else 'FAIL'}: {verdict.line}")
        say(*lines, file=sys.stdout if passed else sys.stderr)
        if options.json:
            said = {"check": options.verify, "passed": passed, **verdict.numbers} if verdict else None
            name = row_of(problem, options.variant).name
            text = json.dumps(report.as_dict(problem, name, team, self.outcome, timing, said), indent=1)
            try:
                write_text(options.json, text + "\n")
            except OSError as error:
                complaints.append(f"--json {options.json} could not be written: {in_words(error)}")
        for complaint in complaints:
            complain(complaint)
        return bool(complaints) or not passed or lost()
