"""Edge rows first, their exchange hidden behind the inner rows.

    high-priority stream   edge rows | put rows + signals to both neighbours | wait for both halos
    compute stream         inner rows .................................... | norm (when it is due)

The course's slide with the events that it forgets, and with signals between neighbours in place of its barrier.
"""

from typing import Any

from ..device import address, array_module, launch_shape
from ..halo import Halo
from ..problem import Problem
from ..sweep import measuring_text, sweep
from .steps import SweepBySweep


class NvshmemOverlap(SweepBySweep):
    """Two streams and two events; ``halo.py`` says why two fields are enough for the neighbours."""

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        self.compute, self.push = team.stream(), team.stream(priority="high")
        self._inner_done, self._edges_done = self.compute.record(), self.push.record()
        self._halo = Halo(team, self.fields, self.push)
        self._scratch = array_module(team).zeros(problem.nx, problem.dtype)
        self._scratch_at = address(self._scratch)
        self._plain = team.kernel(sweep, problem.dtype)
        self._measuring = team.kernel(measuring_text(team), problem.dtype)
        self._calls = [self._prepare(new, old) for new, old in (self.fields.arrays[::-1], self.fields.arrays)]

    def _prepare(self, new: Any, old: Any) -> dict[str, Any]:
        """Everything that does not change from sweep to sweep old -> new."""
        rows, nx, pitch_bytes = self.fields.slab.rows, self.problem.nx, self.problem.pitch_bytes
        to, by = address(new), address(old)  # as numbers: the library need not look at the arrays again
        edges = (to, by, 1, rows + 1, max(rows - 1, 1), nx, pitch_bytes)
        inner = (to, by, 2, rows, 1, nx, pitch_bytes)
        return {
            "edges": (launch_shape(self.team, min(rows, 2)), edges),
            "inner": (launch_shape(self.team, rows - 2), inner) if rows > 2 else None,
        }

    def _launch(self, call: Any, slot: int | None, stream: Any) -> None:
        (blocks, threads), args = call
        if slot is None:
            self._plain(blocks, *args, stream=stream, threads=threads)
        else:
            self._measuring(blocks, *args, self.norm.at[slot], self._scratch_at, stream=stream, threads=threads)

    def sweep(self, slot: int | None) -> None:
        calls = self._calls[self.fields.current]
        # The edge rows read and overwrite what inner rows of the sweep before wrote and read ...
        self.push.wait_event(self._inner_done)
        self._launch(calls["edges"], slot, self.push)
        self._edges_done = self.push.record(self._edges_done)
        self._halo.send(self.fields.new)
        if calls["inner"]:
            self._launch(calls["inner"], slot, self.compute)
        self._inner_done = self.compute.record(self._inner_done)
        # ... and the next inner rows (and the norm) need these edge rows, but no halo.
        self.compute.wait_event(self._edges_done)
        self._halo.receive()
        if slot is not None:
            self.norm.start(slot, self.compute)

    def exchange(self) -> None:
        self._halo.send(self.fields.old)
        self._halo.receive()

    def synchronize(self) -> None:
        self.team.synchronize(self.push)
        self.team.synchronize(self.compute)
