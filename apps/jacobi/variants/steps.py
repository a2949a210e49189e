"""What a variant is: a way to advance the fields, step by step, that the time loop in ``solver.py`` drives."""

from collections.abc import Sequence
from typing import Any

from ..fields import Fields
from ..norm import Norm
from ..problem import Problem


class Steps:
    """Base of all variants.  A step is one or more sweeps that are enqueued together.

    fields: where the solve goes on
    most:   sweeps of a step at most
    ahead:  steps that are enqueued before the norms of a step are read
    The loop calls ``begin``, then ``fit`` and ``step``, ``norms`` when ``ahead`` more steps are enqueued (or none is
    left), and ``settle`` when a norm ends the solve.
    """

    n_fields, depth = 2, 1
    most, ahead = 1, 1

    def __init__(self, team: Any, problem: Problem):
        self.team, self.problem = team, problem
        self.fields = Fields(team, problem, self.n_fields, self.depth)

    def begin(self, done: int) -> None:
        """So many sweeps are done; those that follow are counted from there."""

    def fit(self, due: Sequence[bool]) -> int:
        """Sweeps of the next step, 1..len(due).  due: for the next ``most`` sweeps, whether the norm is wanted."""
        return 1

    def step(self, due: Sequence[bool]) -> None:
        """Enqueue len(due) sweeps, and the norms of those that are due."""
        raise NotImplementedError

    def norms(self) -> list[float]:
        """The norms of the oldest step that had any and was not asked for yet, in order.  Waits."""
        raise NotImplementedError

    def settle(self, keep: int, later: int) -> None:
        """Go back to the field after the first ``keep`` sweeps of the step whose norms were read last.

        later: how many steps were enqueued after that one (at most ``ahead``); their norms are dropped
        """
        raise NotImplementedError

    def exchange(self) -> None:
        """Enqueue one halo exchange alone, for timing it; the field stays as it is."""
        raise NotImplementedError

    def synchronize(self) -> None:
        """Wait for all that was enqueued.  Raises PeerTimeout."""
        self.team.synchronize()

    def free(self) -> None:
        """Give all symmetric memory back.  Collective."""
        self.fields.free()


class SweepBySweep(Steps):
    """A step is one sweep; its norm is read while the next sweep runs.

    If a norm ends the solve, the sweep after it is forgotten: it wrote the other field.
    """

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        self.norm = Norm(team)

    def sweep(self, slot: int | None) -> None:
        """Enqueue one sweep from ``fields.old`` to ``fields.new``.  slot: of ``norm``, None for no norm.

        The variant's own: what its slide shows.
        """
        raise NotImplementedError

    def step(self, due: Sequence[bool]) -> None:
        slot = self.norm.open() if due[0] else None
        self.sweep(slot)
        self.fields.advance()

    def norms(self) -> list[float]:
        return [self.norm.wait()]

    def settle(self, keep: int, later: int) -> None:
        self.norm.drop()
        self.fields.advance(-later)
