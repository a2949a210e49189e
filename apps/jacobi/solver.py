"""What the variants have in common: the fields, how a solve ends, and the loop of those that sweep once at a time."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..program.device import address
from ..program.nvtx import named_range
from ..program.outcome import Outcome
from .fields import Fields
from .kernels import COLUMNS, HIGH, THREADS, Band, sweep
from .norm import Norm
from .problem import Problem
from .schedule import checked

OnNorm = Callable[[int, float], None]


class Solver:
    """One PE's part of a solve.  Making one is collective.

    alone: this PE solves all of the problem in ordinary memory, and nothing is collective
    """

    takes: tuple[str, ...] = ()  # names of the variant's own settings
    how = ""  # what the library chose, for the report

    def __init__(self, team: Any, problem: Problem, depth: int = 1, alone: bool = False):
        self.team, self.problem, self.stream = team, problem, team.stream()
        self.fields = Fields(team, problem, depth, alone)

    @classmethod
    def refuse(cls, team: Any) -> str:
        """Why the variant cannot run on this team; "" if it can."""
        return ""

    def reset(self, initial: np.ndarray | None = None) -> None:
        """Start from a global field (ny, nx) whose rows form a ring, or from zeros and the boundary.  Collective."""
        self.fields.reset(initial)

    def run(
        self, show: bool = False, on_norm: OnNorm | None = None, outcome: Outcome | None = None, stop: int | None = None
    ) -> Outcome:
        """Sweep from ``outcome`` (None: the start) to iteration ``stop`` (None: niter) or convergence.  Collective.

        show:    compute the norms that are printed, too (``schedule.checked``)
        on_norm: called with (iteration, norm) of every norm
        Returns ``outcome``, updated.  Raises PeerTimeout.
        """
        outcome, stop = outcome or Outcome(), self.problem.niter if stop is None else stop

        def ends(iteration: int, norm: float) -> bool:
            if on_norm:
                on_norm(iteration, norm)
            return outcome.add(iteration, norm, self.problem.tol)

        with named_range(self.team, "Jacobi solve"):
            if not self.sweeps(outcome.iterations, stop, show, ends):
                outcome.iterations = stop
            self.finish()
        return outcome

    def sweeps(self, done: int, stop: int, show: bool, ends: Callable[[int, float], bool]) -> bool:
        """Sweep on from iteration ``done``.  ends(iteration, norm): whether this norm ends the solve.

        Returns whether one did; then the present field is that after its sweep.
        """
        raise NotImplementedError

    def finish(self) -> None:
        """Wait until everything that was enqueued has run."""
        self.team.synchronize(self.stream)

    def warm_up(self, show: bool = False) -> None:
        """Do all that ``run`` does once, to compile and load everything.  Overwrites the field.  Collective."""
        raise NotImplementedError

    def free(self) -> None:
        """Free all symmetric memory.  Collective."""
        self.fields.free()


class SweepBySweep(Solver):
    """Base of the variants that enqueue one sweep at a time.  Its norm is read when the next sweep is enqueued.

    When a norm ends the solve, the sweep after it is ignored: it has written the other field.
    """

    norm_by = "library"  # see ``Norm``

    def __init__(self, team: Any, problem: Problem, alone: bool = False):
        super().__init__(team, problem, alone=alone)
        self._sweep = team.kernel(sweep(problem.item_bytes), problem.dtype, THREADS)
        self.norm = Norm(team, "alone" if alone else self.norm_by)
        team.synchronize()

    def sweep(self, slot: int | None) -> None:
        """Enqueue one sweep from ``fields.old`` to ``fields.new``, and the exchange of the new halos.

        This is what makes a variant.  Work that is enqueued on ``stream`` afterwards runs when all of this is done.
        slot: where in ``norm`` the change is summed;  None: no norm is due
        """
        raise NotImplementedError

    def launch(self, start: int, stop: int, slot: int | None, stream: Any, step: int = HIGH, high: int = HIGH) -> None:
        """Enqueue the sweep of rows start..stop-1 of this PE's fields, of which 1..rows are its own; see ``Band``."""
        if stop <= start:
            return
        new, old, nx = self.fields.new, self.fields.old, self.problem.nx
        band = Band(address(new), address(old), start, stop, step, high, nx, old.strides[0], old.itemsize)
        words = 0 if slot is None else address(self.norm.slots[slot])
        blocks = -(-(nx - 2) // COLUMNS) * -(-(stop - start) // step)
        self._sweep(blocks, band, words, stream=stream, threads=THREADS)

    def launch_edges(self, slot: int | None, stream: Any) -> None:
        """The same for the first row and the last one, which may be one."""
        self.launch(1, self.fields.rows + 1, slot, stream, max(self.fields.rows - 1, 1), 1)

    def sweeps(self, done: int, stop: int, show: bool, ends: Callable[[int, float], bool]) -> bool:
        pending: int | None = None  # the sweep whose norm is under way
        for k in range(done, stop):
            slot = k % 2 if checked(k, self.problem.nccheck, show) else None
            self.sweep(slot)
            if slot is not None:
                self.norm.start(slot, self.stream)
            if pending is not None and ends(pending, self.norm.wait(pending % 2)):
                if slot is not None:
                    self.norm.wait(slot)
                return True
            self.fields.advance()
            pending = None if slot is None else k
        return pending is not None and ends(pending, self.norm.wait(pending % 2))

    def warm_up(self, show: bool = False) -> None:
        for slot in (None, 0, 1):
            self.sweep(slot)
            self.fields.advance()
            if slot is not None:
                self.norm.start(slot, self.stream)
                self.norm.wait(slot)
        self.finish()
        if not self.fields.alone:
            self.team.comm.Barrier()

    def free(self) -> None:
        super().free()
        self.norm.free()
