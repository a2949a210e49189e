"""The time loop: boundary rows first, their exchange hidden behind the inner rows."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .boundary import column
from .device import address, array_module, launch_shape, to_numpy
from .halo import Halo
from .norm import Norm
from .outcome import Outcome, checked
from .problem import Problem
from .slab import most_rows, slabs
from .sweep import sweep, sweep_and_sum, sweep_then_sum


def measuring_text(team: Any) -> Callable[..., None]:
    """The sweep with norm that suits the team's device."""
    return sweep_and_sum if team.backend == "cuda" else sweep_then_sum


class Solver:
    """One PE's slab and everything that a sweep of it needs, made once.

    fields: two symmetric arrays (most rows of any slab + 2, nx); row 0 and row ``rows + 1``
            are halos, which the neighbours write.  ``field`` is the one that holds the result.
    """

    def __init__(self, team: Any, problem: Problem):
        self.team, self.problem = team, problem
        parts = slabs(problem.ny, team.n_pes)
        self.slab = parts[team.me]
        shape = (most_rows(parts) + 2, problem.nx)
        self.fields = [team.zeros(shape, problem.dtype) for _ in (0, 1)]
        self.current = 0
        self.compute = team.stream()
        self.push = team.stream(priority="high")
        self._inner_done, self._edges_done = self.compute.record(), self.push.record()
        self._halo = Halo(team, parts, self.push)
        self._norm = Norm(team)
        self._slot = 0
        self._scratch = array_module(team).zeros(problem.nx, problem.dtype)
        self._words, self._scratch_at = [address(row) for row in self._norm.words], address(self._scratch)
        self._plain = team.kernel(sweep, problem.dtype)
        self._measuring = team.kernel(measuring_text(team), problem.dtype)
        self._calls = [self._prepare(new, old) for new, old in (self.fields[::-1], self.fields)]

    @property
    def field(self) -> Any:
        """The field after the last sweep, (rows + 2 or more, nx)."""
        return self.fields[self.current]

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Own rows start..stop (0-based) of the field, as NumPy."""
        return to_numpy(self.field[1 + start : 1 + stop])

    def reset(self, initial: np.ndarray | None = None) -> None:
        """Start anew, from zeros or from a global field (ny, nx) closed to a ring.  Collective."""
        slab, problem = self.slab, self.problem
        mine = slice(slab.first - 1, slab.first + slab.rows + 1)
        xp = array_module(self.team)
        for one in self.fields:
            if initial is None:
                values = xp.asarray(column(problem.ny, problem.bc, problem.dtype)[mine])
                one[...] = 0
                one[: slab.rows + 2, 0] = one[: slab.rows + 2, -1] = values
            else:
                one[: slab.rows + 2] = xp.asarray(np.asarray(initial[mine], problem.dtype))
        self.current = 0
        self.team.synchronize()
        self.team.barrier()  # nobody may push a halo into a field that is yet to be reset
        self.team.synchronize()

    def _prepare(self, new: Any, old: Any) -> dict[str, Any]:
        """Everything that does not change from sweep to sweep old -> new."""
        rows, nx, pitch_bytes = self.slab.rows, self.problem.nx, self.problem.pitch_bytes
        to, by = address(new), address(old)  # as numbers: the library need not look at the arrays again
        edges = (to, by, 1, rows + 1, max(rows - 1, 1), nx, pitch_bytes)
        inner = (to, by, 2, rows, 1, nx, pitch_bytes)
        return {
            "edges": (launch_shape(self.team, min(rows, 2)), edges),
            "inner": (launch_shape(self.team, rows - 2), inner) if rows > 2 else None,
            "halo": self._halo.prepare(new),
        }

    def _sweep(self, call: Any, slot: int | None, stream: Any) -> None:
        (blocks, threads), args = call
        if slot is None:
            self._plain(blocks, *args, stream=stream, threads=threads)
        else:
            self._measuring(blocks, *args, self._words[slot], self._scratch_at, stream=stream, threads=threads)

    def iterate(self, slot: int | None) -> None:
        """Enqueue one sweep.  slot: where its norm goes, None for no norm.

        ``halo.py`` says why two fields are enough for the neighbours; two streams need two events.
        """
        calls = self._calls[self.current]
        # The edge rows read and overwrite what inner rows of the sweep before wrote and read ...
        self.push.wait_event(self._inner_done)
        self._sweep(calls["edges"], slot, self.push)
        self._edges_done = self.push.record(self._edges_done)
        self._halo.send(calls["halo"])
        if calls["inner"]:
            self._sweep(calls["inner"], slot, self.compute)
        self._inner_done = self.compute.record(self._inner_done)
        # ... and the next inner rows (and the norm) need these edge rows, but no halo.
        self.compute.wait_event(self._edges_done)
        self._halo.receive()
        self.current = 1 - self.current

    def run(self, show: bool = False, on_norm: Callable[[int, float], None] | None = None) -> Outcome:
        """Sweep until the norm is at most tol, or niter times.  Collective.

        The norm of a sweep is read while the next one runs.  If it ends the solve, the
        next sweep is forgotten: it wrote the other field.
        """
        outcome = Outcome(self.problem.niter)
        pending: tuple[int, int] | None = None
        for iteration in range(self.problem.niter):
            slot = None
            if checked(iteration, self.problem.nccheck, show):
                slot = self._slot = 1 - self._slot
            self.iterate(slot)
            if slot is not None:
                self._norm.start(slot, self.compute)
            if pending and self._ends(outcome, *pending, on_norm):
                if slot is not None:
                    self._norm.wait(slot)
                self.current = 1 - self.current
                break
            pending = None if slot is None else (iteration, slot)
        else:
            if pending:
                self._ends(outcome, *pending, on_norm)
        self.synchronize()
        return outcome

    def _ends(self, outcome: Outcome, iteration: int, slot: int, on_norm: Callable[[int, float], None] | None) -> bool:
        norm = self._norm.wait(slot)
        if on_norm:
            on_norm(iteration, norm)
        return outcome.add(iteration, norm, self.problem.tol)

    def warm_up(self, measure: bool) -> None:
        """One sweep on its own, so that everything it uses is compiled and loaded."""
        self.iterate(self._slot if measure else None)
        if measure:
            self._norm.start(self._slot, self.compute)
            self._norm.wait(self._slot)
        self.synchronize()
        self.team.comm.Barrier()

    def exchange(self) -> None:
        """Enqueue the halo exchange of the present field alone: it changes nothing, for timing it."""
        self._halo.send(self._calls[1 - self.current]["halo"])
        self._halo.receive()

    def synchronize(self) -> None:
        """Wait for all that was enqueued.  Raises PeerTimeout when a neighbour never came."""
        self.team.synchronize(self.push)
        self.team.synchronize(self.compute)

    def free(self) -> None:
        """Give the two fields back.  Collective."""
        for one in self.fields:
            self.team.free(one)
