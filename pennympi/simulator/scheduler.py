"""The choice of the actor that runs next.  A seed draws the scheduler's temper: fair, or by priorities that sometimes
change (so that a PE starves for long, or runs far ahead), with a network that is prompt, late or unsteady."""

import time
from random import Random
from typing import Any

STEPS_BETWEEN_LOOKS = 1024  # steps between two reads of the clock
BURST_STEPS = (1, 4, 30)  # average steps between two choices, of which a seed draws one
BUFFERED = (0.0, 0.5, 1.0)  # share of the stores by pointer that become visible later
TORN = (0.0, 0.3, 0.8)  # share of the copies that land in several parts


class TimeIsUp(Exception):
    """The time of all schedules is over."""


class Patience:
    """The PEs that have given up.

    ends:  whether PEs may give up by themselves: PE ``first`` in its wait number ``after``, and a PE when no PE can go on
    quiet: whether a wait that gave up ends only after the messages of its PE have arrived
    """

    def __init__(self, n_pes: int):
        self.gave_up = [False] * n_pes
        self.ends, self.quiet, self.first, self.after = False, True, 0, 0

    def draw(self, rng: Random) -> None:
        """Draw a PE that gives up, and its wait."""
        self.ends, self.first, self.after = True, rng.randrange(len(self.gave_up)), rng.randint(1, 30)

    def is_over(self, pe: int) -> bool:
        """Whether a PE that would have to wait gives up, or has given up."""
        if self.ends and pe == self.first:
            self.after -= 1
            return self.gave_up[pe] or self.after <= 0
        return self.gave_up[pe]


class Scheduler:
    """The actors that can do a step.  An actor has ``step()``, which returns whether it can do another step, ``pe`` and
    ``priority``."""

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
        """Let the actors that wait for ``key`` poll again."""
        self.ready += self._sleeping.pop(key, ())

    def wake_all(self) -> None:
        """Let all actors poll again."""
        for key in list(self._sleeping):
            self.wake(key)

    def burst(self) -> int:
        """Steps that a fiber may do before the next choice."""
        return int(self.random() * 2 * self.burst_steps)

    def cuts(self, count: int) -> list[tuple[int, int]]:
        """(start, stop) of the parts in which ``count`` bytes or elements are moved, in the order of their moves."""
        if count < 2 or self.random() >= self.torn:
            return [(0, count)]
        low, high = sorted((int(self.random() * count), int(self.random() * count)))
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
            chosen = self._choose()
            if not ready[chosen].step():
                ready[chosen] = ready[-1]
                ready.pop()

    def _choose(self) -> int:
        ready = self.ready
        if not self.by_priority or len(ready) == 1:
            return int(self.random() * len(ready))
        if self.random() < self._change:
            if self.random() < 0.2:  # some PE begins to starve, or to run ahead
                self._bias[int(self.random() * len(self._bias))] = self.random() * 2
            actor = ready[int(self.random() * len(ready))]
            actor.priority = self.random() + self._bias[actor.pe]
        best, chosen = -9.0, 0
        for k, actor in enumerate(ready):
            if actor.priority > best:
                best, chosen = actor.priority, k
        return chosen
