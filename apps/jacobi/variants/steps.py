"""What every variant provides: the methods by which the time loop in ``solver.py`` advances the fields step by step.

Read first: ../textbook.py, then ../solver.py, ../grid/fields.py and ../grid/halo.py.
"""

from collections.abc import Sequence
from typing import Any

from ..grid.fields import Fields
from ..grid.problem import Problem
from ..norm.norm import Norm
from ..sweep.band import Band, edges, inner
from ..sweep.sweeper import Sweeper


class Steps:
    """Base of all variants.  A step is one or more sweeps that are enqueued together.

    n_fields, depth: the fields that the variant needs, and their halo rows on either side
    max_sweeps:      the most sweeps of a step
    pipeline_depth:  how many more steps are enqueued before the norms of a step are read
    The loop calls ``fit`` and ``step`` for each step.  It calls ``norms`` for a step when ``pipeline_depth`` more steps
    are enqueued, or no step is left, and ``rollback`` when a norm ends the solve.
    """

    n_fields, depth = 2, 1
    max_sweeps, pipeline_depth = 1, 1

    def __init__(self, team: Any, problem: Problem):
        self.team, self.problem = team, problem
        self.fields = Fields(team, problem, self.n_fields, self.depth)
        self.stream, self.norm_stream = team.stream(), team.stream(priority="high")
        self._swept = self.stream.record()
        self.norm = self.make_norm()

    @classmethod
    def refuse(cls, team: Any) -> str:
        """Why the variant cannot run on this team; "" if it can."""
        return ""

    def make_norm(self) -> Norm:
        """The object that sums the norms of a step over the PEs."""
        return Norm(self.team, self.max_sweeps)

    def fit(self, due: Sequence[bool]) -> int:
        """How many sweeps the next step does, 1..len(due).  due[k]: whether the norm of its sweep k is due."""
        return 1

    def step(self, due: Sequence[bool]) -> None:
        """Enqueue len(due) sweeps, and the norm of each sweep k for which due[k] is true."""
        raise NotImplementedError

    def send_norm(self, slot: int) -> None:
        """Sum the norm over the PEs and copy it to the host, while the next step runs."""
        self._swept = self.stream.record(self._swept)
        self.norm_stream.wait_event(self._swept)
        self.norm.start(slot, self.norm_stream)

    def norms(self) -> list[float]:
        """The norms of the oldest step whose norms were not read yet, in the order of its sweeps.  Blocks."""
        return self.norm.wait()

    def rollback(self, keep: int, later: int) -> None:
        """Go back to the field after the first ``keep`` sweeps of the step whose norms were read last.

        later: how many steps were enqueued after it (at most ``pipeline_depth``); their norms are dropped
        """
        self.norm.drop()
        self.fields.advance(-later)

    def rehearse(self, due: Sequence[bool]) -> None:
        """Do such a step from each field, so that all kernels are compiled and loaded.  Overwrites the fields."""
        for _ in self.fields.arrays:
            self.step(due)
            if any(due):
                self.norms()

    def finish(self) -> None:
        """Wait until everything that was enqueued has run, and no PE writes to this one any more.  Collective."""
        for stream in (self.stream, self.norm_stream):
            self.team.synchronize(stream)

    def free(self) -> None:
        """Free all symmetric memory.  Collective."""
        self.fields.free()
        self.norm.free()


class SweepBySweep(Steps):
    """Base of the variants whose step is one sweep.  Its norm is read while the next sweep runs.

    When a norm ends the solve, the sweep after it is ignored: it has written the other field.
    """

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        self._sweeper = Sweeper(team, problem, self.fields.pitch_bytes)
        rows = self.fields.slab.rows
        self.all_rows = inner(team, problem, 1, rows + 1, 1)
        self.edge_rows = edges(team, problem, rows, 1)
        self.top_row, self.bottom_row = (inner(team, problem, row, row + 1, 1) for row in (1, rows))
        self.inner_rows = inner(team, problem, 2, rows, 1) if rows > 2 else None

    def sweep(self, slot: int | None) -> None:
        """Enqueue one sweep from ``fields.old`` to ``fields.new``, and the exchange of the new halos.

        This is what makes a variant.  Work that is enqueued on ``stream`` afterwards runs when all of this is done.
        slot: where in ``norm`` the change is summed;  None: no norm is due
        """
        raise NotImplementedError

    def launch(self, band: Band | None, slot: int | None, stream: Any) -> None:
        """Enqueue the sweep of a band of rows (None: of no rows), and add its change to the norm's slot."""
        if band:
            words_at = 0 if slot is None else self.norm.at[slot]
            self._sweeper(self.fields.new, self.fields.old, band, stream, words_at)

    def step(self, due: Sequence[bool]) -> None:
        slot = self.norm.open() if due[0] else None
        self.sweep(slot)
        self.fields.advance()
        if slot is not None:
            self.send_norm(slot)
