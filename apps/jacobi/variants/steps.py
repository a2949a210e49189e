"""What a variant is: a way to advance the fields, step by step, that the time loop in ``solver.py`` drives."""

from collections.abc import Callable, Sequence
from typing import Any

from ..grid.fields import Fields
from ..grid.halo import Halo
from ..grid.problem import Problem
from ..norm.norm import Norm
from ..sweep.band import Band, edges, inner
from ..sweep.sweeper import Sweeper


class Steps:
    """Base of all variants.  A step is one or more sweeps that are enqueued together.

    fields: where the solve goes on
    max_sweeps:     sweeps of a step at most
    pipeline_depth: steps that are enqueued before the norms of a step are read
    The loop calls ``begin``, then ``fit`` and ``step``, then ``norms`` when ``pipeline_depth`` more steps are enqueued
    (or none is left), and ``rollback`` when a norm ends the solve.
    """

    n_fields, depth = 2, 1
    max_sweeps, pipeline_depth = 1, 1

    def __init__(self, team: Any, problem: Problem):
        self.team, self.problem = team, problem
        self.fields = Fields(team, problem, self.n_fields, self.depth)

    @classmethod
    def refuse(cls, team: Any, problem: Problem) -> str:
        """Why it can't run there, or ""."""
        return ""

    def begin(self, done: int) -> None:
        """So many sweeps are done; those that follow are counted from there."""

    def fit(self, due: Sequence[bool]) -> int:
        """Sweeps of the next step, 1..len(due).  due: for the next ``max_sweeps`` sweeps, whether the norm is wanted."""
        return 1

    def step(self, due: Sequence[bool]) -> None:
        """Enqueue len(due) sweeps, and the norms of those that are due."""
        raise NotImplementedError

    def norms(self) -> list[float]:
        """The norms of the oldest step that had any and was not asked for yet, in order.  Waits."""
        raise NotImplementedError

    def rollback(self, keep: int, later: int) -> None:
        """Go back to the field after the first ``keep`` sweeps of the step whose norms were read last.

        later: how many steps were enqueued after that one (at most ``pipeline_depth``); their norms are dropped
        """
        raise NotImplementedError

    def note(self, wrap: Callable[[str, str, Any], Any]) -> None:
        """For the profile, which sees what goes through the team: wrap what does not.

        wrap: (phase, name, function) -> the function, noted; its stream is a keyword argument
        """

    def rehearse(self, due: Sequence[bool]) -> None:
        """A step like this from each field, for the sake of all that it compiles and loads.  Spoils the fields."""
        for _ in self.fields.arrays:
            self.step(due)
            if any(due):
                self.norms()

    def exchange(self) -> None:
        """Enqueue one halo exchange alone, for timing it; the field stays as it is."""
        raise NotImplementedError

    def synchronize(self) -> None:
        """Wait for all that was enqueued.  Raises PeerTimeout."""
        self.team.synchronize()

    def finish(self) -> None:
        """Wait until nobody writes to this PE any more.  Collective."""
        self.synchronize()

    def free(self) -> None:
        """Give all symmetric memory back.  Collective."""
        self.fields.free()


class SweepBySweep(Steps):
    """A step is one sweep; its norm is read while the next sweep runs.

    If a norm ends the solve, the sweep after it is forgotten: it wrote the other field.
    """

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        self.stream, self.norm_stream = team.stream(), team.stream(priority="high")
        self._swept = self.stream.record()
        self.norm = self.make_norm()
        self._sweeper = Sweeper(team, problem, 1, self.fields.pitch_bytes)
        rows = self.fields.slab.rows
        self.all_rows = inner(team, problem, 1, rows + 1, 1)
        self.edge_rows = edges(team, problem, rows, 1)
        self.top_row, self.bottom_row = (inner(team, problem, row, row + 1, 1) for row in (1, rows))
        self.inner_rows = inner(team, problem, 2, rows, 1) if rows > 2 else None

    def make_norm(self) -> Norm:
        """What adds the norm up over the PEs."""
        return Norm(self.team)

    def sweep(self, slot: int | None) -> None:
        """Enqueue one sweep from ``fields.old`` to ``fields.new``, and the exchange of the new halos.

        slot: of ``norm``, None for no norm.  The variant's own: what its slide shows.  All of it is done, or
        ``stream`` waits for it, when the next thing in ``stream`` runs.
        """
        raise NotImplementedError

    def launch(self, band: Band | None, slot: int | None, stream: Any) -> None:
        """Enqueue the sweep of some rows (None: none), with their share of the norm."""
        if band:
            words_at = 0 if slot is None else self.norm.at[slot]
            self._sweeper(self.fields.new, self.fields.old, band, stream, words_at)

    def step(self, due: Sequence[bool]) -> None:
        slot = self.norm.open() if due[0] else None
        self.sweep(slot)
        self.fields.advance()
        if slot is not None:
            self.send_norm(slot)

    def send_norm(self, slot: int) -> None:
        """Add the norm up over the PEs and send it to the host, while the next sweep runs."""
        self._swept = self.stream.record(self._swept)
        self.norm_stream.wait_event(self._swept)
        self.norm.start(slot, self.norm_stream)

    def norms(self) -> list[float]:
        return self.norm.wait()

    def rollback(self, keep: int, later: int) -> None:
        self.norm.drop()
        self.fields.advance(-later)

    def free(self) -> None:
        super().free()
        self.norm.free()


class WithHalo(SweepBySweep):
    """Halos go to the neighbours by puts and signals on a high-priority stream, ``push``."""

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        self.push = team.stream(priority="high")
        self.halo = Halo(team, self.fields, self.push)

    def exchange(self) -> None:
        self.halo.send(self.fields.old)
        self.halo.receive()

    def synchronize(self) -> None:
        for stream in (self.push, self.stream, self.norm_stream):
            self.team.synchronize(stream)
