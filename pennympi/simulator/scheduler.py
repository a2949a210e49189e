"""Who runs next.  A seed draws a temper: fair, or by priorities that now and then change (so that a PE
starves for long, or runs far ahead), with a network that is prompt, late or fickle."""

import time
from random import Random
from typing import Any

STEPS_BETWEEN_LOOKS = 1024  # at the clock
BURST_STEPS = (1, 4, 30)  # steps between two choices, on average, as the seed has it
BUFFERED = (0.0, 0.5, 1.0)  # share of the stores by pointer that become visible later
TORN = (0.0, 0.3, 0.8)  # share of the copies that land in several parts


class TimeIsUp(Exception):
    """The time of all schedules is over."""


class Patience:
    """Which PEs have given up.

    ends:  whether a PE may, by itself: PE ``first`` does at its ``after``-th wait, and one where none can go on
    quiet: whether a wait that gave up ends when what its PE has sent is there
    """

    def __init__(self, n_pes: int):
        self.gave_up = [False] * n_pes
        self.ends, self.quiet, self.first, self.after = False, True, 0, 0

    def draw(self, rng: Random) -> None:
        """Let some PE give up at some time."""
        self.ends, self.first, self.after = True, rng.randrange(len(self.gave_up)), rng.randint(1, 30)

    def is_over(self, pe: int) -> bool:
        """Whether a PE that would have to wait gives up, or has."""
        if self.ends and pe == self.first:
            self.after -= 1
            return self.gave_up[pe] or self.after <= 0
        return self.gave_up[pe]


class Scheduler:
    """The actors that can do a step.  An actor has ``step() -> whether it can do another``, ``pe`` and ``priority``."""

    def __init__(self, rng: Random, n_pes: int):
        self.rng, self.random = rng, rng.random
        self.ready: list[Any] = []
        self.by_priority = rng.random() < 0.6
        self.burst_steps = rng.choice(BURST_STEPS)
        self.buffered, self.torn = rng.choice(BUFFERED), rng.choice(TORN)
        self.network_bias = rng.choice((-2.0, 0.0, 2.0))
        self._change = rng.choice((0.01, 0.05, 0.2))
        self._bias = [rng.random() * 2 for _ in range(n_pes)]
        self._sleeping: dict[Any, list[Any]] = {}
        self.end_s = float("inf")

    def add(self, actor: Any, bias: float = 0.0) -> None:
        """Let an actor run from now on."""
        actor.priority = self.random() + self._bias[actor.pe] + bias
        self.ready.append(actor)

    def sleep(self, actor: Any, key: Any) -> None:
        """Note that an actor that is about to stop waits for ``key``."""
        self._sleeping.setdefault(key, []).append(actor)

    def wake(self, key: Any) -> None:
        """The actors that wait for ``key`` poll again."""
        for actor in self._sleeping.pop(key, ()):
            self.ready.append(actor)

    def wake_all(self) -> None:
        """All actors poll again."""
        for key in list(self._sleeping):
            self.wake(key)

    def burst(self) -> int:
        """Steps that a block may do before the next choice."""
        return int(self.random() * 2 * self.burst_steps)

    def cuts(self, count: int) -> list[tuple[int, int]]:
        """(start, stop) of the parts in which ``count`` things are moved, in the order in which that happens."""
        if count < 2 or self.random() >= self.torn:
            return [(0, count)]
        one, other = int(self.random() * count), int(self.random() * count)
        low, high = (one, other) if one < other else (other, one)
        parts = [(start, stop) for start, stop in ((0, low), (low, high), (high, count)) if stop > start]
        if self.random() < 0.5:
            parts.reverse()
        return parts

    def run(self) -> None:
        """Run until no actor can do a step.  Raises TimeIsUp."""
        ready, steps = self.ready, 0
        while ready:
            steps += 1
            if steps % STEPS_BETWEEN_LOOKS == 0 and time.monotonic() > self.end_s:
                raise TimeIsUp
            at = self._choose()
            if not ready[at].step():
                ready[at] = ready[-1]
                ready.pop()

    def _choose(self) -> int:
        ready = self.ready
        if not self.by_priority or len(ready) == 1:
            return int(self.random() * len(ready))
        if self.random() < self._change:
            if self.random() < 0.2:  # another PE starves, or is let run
                self._bias[int(self.random() * len(self._bias))] = self.random() * 2
            actor = ready[int(self.random() * len(ready))]
            actor.priority = self.random() + self._bias[actor.pe]
        best, at = -9.0, 0
        for k, actor in enumerate(ready):
            if actor.priority > best:
                best, at = actor.priority, k
        return at
