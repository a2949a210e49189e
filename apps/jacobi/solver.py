"""What the variants have in common: the fields, and how a solve ends; and the loops of the variants that sweep once a
time.

A loop runs on the host, or on the device, where it ends by itself.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI

from pennympi import specialised
from pennympi.kernels.in_kernel import WORDS, GridBarrier, SumWords, grid_barrier_words
from pennympi.kernels.sweep.norm import COPIES, norm_of

from ..program.device import Readback, address, array_module, multiprocessors, named_range
from ..program.outcome import Outcome
from . import loop_kernels as at
from .fields import Fields
from .kernels import ROWS, THREADS, sweep
from .loop_kernels import SET_WORDS, SWEEPS, Turn, add_others, all_arrived, end_turn
from .problem import Problem, checked
from .tiles import HIGH, Band, Near, tiles_across

OnNorm = Callable[[int, float], None]
NO_NEIGHBOURS = Near(0, 0, 0, 0, 0)
BLOCKS = 1  # of a sweep on each multiprocessor at least: tiles of a small grid have fewer rows to reach it
LOOP_SWEEPS = {"cuda": 1000, "host": 100}  # at most in one loop on the device; norms are shown when it has ended


class Solver:
    """One PE's part of a solve.  Making one is collective.

    alone: this PE solves all of the problem in ordinary memory, and nothing is collective
    """

    how = ""  # what the library chose, for the report

    def __init__(self, team: Any, problem: Problem, depth: int = 1, alone: bool = False):
        self.team, self.problem, self.stream = team, problem, team.stream()
        self.fields = Fields(team, problem, depth, alone)

    @classmethod
    def why_not(cls, team: Any) -> str:
        """Why the variant cannot run on this team; "" if it can."""
        return ""

    def reset(self, initial: np.ndarray | None = None) -> None:
        """Start from a global field (ny, nx) whose rows form a ring, or from zeros and the boundary.  Collective."""
        self.fields.reset(initial)

    def run(
        self, show: bool = False, on_norm: OnNorm | None = None, outcome: Outcome | None = None, stop: int | None = None
    ) -> Outcome:
        """Sweep from ``outcome`` (None: the start) to iteration ``stop`` (None: niter) or convergence.  Collective.

        show:    compute the norms that are printed, too (``problem.checked``)
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
        """Sweep on from iteration ``done`` to ``stop``, or until ends(iteration, norm); returns whether a norm ended
        it."""
        raise NotImplementedError

    def finish(self) -> None:
        """Wait until everything that was enqueued has run."""
        self.team.synchronize(self.stream)

    def warm_up(self, show: bool = False) -> None:
        """Do all that ``run`` does once, to compile and load everything.  Overwrites the field.  Collective."""
        self.sweeps(0, 2, False, lambda iteration, norm: False)
        self.finish()
        if not self.fields.alone:
            self.team.comm.Barrier()

    def free(self) -> None:
        """Free all symmetric memory.  Collective."""
        self.fields.free()


class SweepBySweep(Solver):
    """Base of the variants that enqueue one sweep at a time."""

    def __init__(self, team: Any, problem: Problem, alone: bool = False):
        super().__init__(team, problem, alone=alone)
        self._sweep = team.kernel(specialised(sweep, problem.item_bytes), problem.dtype, THREADS, resident=2)
        self._blocks = BLOCKS * multiprocessors(team) if team.backend == "cuda" else 1

    def launch(self, stream: Any, turn: Turn, near: Near = NO_NEIGHBOURS, edges: bool = True, inner: bool = True) -> None:
        """Enqueue the sweep of the first and the last row, and of those between them."""
        fields, nx, high = self.fields, self.problem.nx, HIGH
        new, old, across = fields.new, fields.old, tiles_across(nx)
        n_edges, n_inner = min(fields.rows, 2) if edges else 0, max(fields.rows - 2, 0) if inner else 0
        while high > ROWS and across * -(-n_inner // high) < self._blocks:
            high //= 2
        band = Band(address(new), address(old), fields.rows, n_edges, high, nx, old.strides[0], old.itemsize)
        if tiles := across * (n_edges + -(-n_inner // high)):
            self._sweep(tiles + (turn.state != 0), band, near, turn, stream=stream, threads=THREADS)


class HostLoop(SweepBySweep):
    """A loop of the host, which waits for each norm and sums it by MPI.

    exchange: (stream) exchanges the edge rows of ``fields.new``, in stream order
    overlaps: whether the edge rows and their exchange run on a stream of their own, while the inner rows are swept
    """

    exchange: Callable[[Any], None]
    overlaps = False

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        self.words = array_module(team).zeros((COPIES, WORDS), "int64")  # of a norm, zero when a sweep begins
        self._readback = Readback(team, self.words)
        self._push = team.stream(priority="high")

    def sweep(self, turn: Turn) -> None:
        """Enqueue one sweep from ``fields.old`` to ``fields.new``, and the exchange of the new halos."""
        if self.overlaps:
            self._push.wait_event(self.stream.record())
            self.launch(self._push, turn, inner=False)
            self.launch(self.stream, turn, edges=False)
            self.exchange(self._push)
            self.stream.wait_event(self._push.record())
        else:
            self.launch(self.stream, turn)
            self.exchange(self.stream)

    def sweeps(self, done: int, stop: int, show: bool, ends: Callable[[int, float], bool]) -> bool:
        for k in range(done, stop):
            due = checked(k, self.problem.nccheck, show)
            self.sweep(Turn(0, 0, address(self.words) if due else 0, 0.0))
            self.fields.advance()
            if due and ends(k, self.norm()):
                return True
        return False

    def norm(self) -> float:
        """The norm of the last sweep, sqrt(sum (new - old)^2).  NaN if a change was NaN or far too large."""
        self._readback.start(self.stream)
        sums = self._readback.wait().sum(axis=0)
        with self.stream:
            self.words[...] = 0
        self.team.comm.Allreduce(MPI.IN_PLACE, sums)
        return norm_of(SumWords(*sums[: len(SumWords._fields)].tolist()))


class DeviceLoop(SweepBySweep):
    """A loop of the device: turns of SWEEPS sweeps, of which those after the end do nothing.  A sweep is one kernel:

        first blocks   wait for the halos of the sweep before | edge rows | put_signal to both neighbours
        other blocks   inner rows ..................................................................... | norm

    state: the loop's words, see ``loop_kernels.BEFORE``
    If this PE is ``alone``, the host reads after each turn whether there is another turn.
    """

    def __init__(self, team: Any, problem: Problem, alone: bool = False):
        super().__init__(team, problem, alone)
        fields, new = self.fields, array_module(team).zeros if alone else team.zeros
        across, self._loop_sweeps = tiles_across(problem.nx), LOOP_SWEEPS[team.backend]
        self.n_pes = 1 if alone else team.n_pes
        self._signals = new(4 * across, "int64")
        self.near = Near(fields.up, fields.down, fields.taller, across, address(self._signals))
        self.state = array_module(team).zeros(at.TABLE + self._loop_sweeps + SWEEPS, "int64")
        self._written, self._readback = np.zeros(self.state.shape, "int64"), Readback(team, self.state)
        self._end_turn, self._loops = team.kernel(end_turn, "int64"), dict[int, Any]()  # by the present field
        if self.n_pes > 1:
            self._barrier = GridBarrier(
                team.me, team.n_pes, COPIES, team.zeros(grid_barrier_words(team.n_pes, COPIES), "int64")
            )
            self._add_others, self._all_arrived = team.kernel(add_others, "int64"), team.kernel(all_arrived, "int64")

    def sweep(self, stream: Any, turn: Turn) -> None:
        """Enqueue one sweep from ``fields.old`` to ``fields.new``, and the exchange of the new halos."""
        self.launch(stream, turn, self.near)

    def turn(self, stream: Any) -> None:
        """Enqueue a turn."""
        state, tol = address(self.state), self.problem.tol
        for number in range(SWEEPS):
            turn = Turn(number, state, state + 8 * (at.SETS + number % 3 * SET_WORDS), tol)
            self.sweep(stream, turn)
            if self.n_pes > 1:
                self._add_others(1, turn, self._barrier, stream=stream, threads=THREADS)
            self.fields.advance()
        self._end_turn(1, Turn(SWEEPS, state, 0, tol), stream=stream, threads=THREADS)

    def sweeps(self, done: int, stop: int, show: bool, ends: Callable[[int, float], bool]) -> bool:
        while done < stop:
            count = min(stop - done, self._loop_sweeps)
            due = [k for k in range(count) if checked(done + k, self.problem.nccheck, show)]
            if any([ends(done + k, norm) for k, norm in zip(due, self.repeat(count, due), strict=False)]):
                return True
            done += count
        return False

    def repeat(self, count: int, due: list[int]) -> list[float]:
        """Sweep ``count`` times, or up to the first norm that ends the solve.  Collective.

        due: the sweeps that have a norm.  Returns the norms.
        """
        written = self._written
        written[[at.BEFORE, at.MORE, at.ENDED, at.RAN]], written[[at.STOP, at.COUNT]], written[at.SETS :] = 0, count, 0
        written[at.TABLE + np.array(due, int)] = 1
        written[at.DUE : at.SETS] = written[at.TABLE : at.TABLE + SWEEPS]
        with self.stream:
            self.state[...] = array_module(self.team).asarray(written)
        self._run()
        if self.n_pes > 1:
            self._all_arrived(1, self.near, self.state, stream=self.stream, threads=32)
        self._readback.start(self.stream)
        read = self._readback.wait()
        written[at.EPOCH] += read[at.RAN]
        if read[at.COUNT] % 2:
            self.fields.advance()
        return read[[at.TABLE + k for k in due if k < read[at.COUNT]]].view("float64").tolist()  # type: ignore[no-any-return]

    def _run(self) -> None:
        more = self.state[at.MORE : at.MORE + 1].view("float64")
        if self.fields.alone:
            goes_on = True
            while goes_on:
                self.turn(self.stream)
                self._readback.start(self.stream)
                goes_on = self._readback.wait()[at.MORE] != 0
            return
        now = self.fields.current
        if now not in self._loops:
            self._loops[now] = self.team.plan_loop(self.turn, more, 0.5, self._loop_sweeps)
        self._loops[now](self.stream)

    def free(self) -> None:
        super().free()
        self._loops.clear()
        if not self.fields.alone:
            self.team.free(self._signals)
        if self.n_pes > 1:
            self.team.free(self._barrier.memory)
