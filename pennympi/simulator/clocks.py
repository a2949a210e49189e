"""Vector clocks: the order of accesses that the rules guarantee, and not the order of the schedule.

An actor (a program, a warp, a message) has a component, and a clock: for each component the time up to which the actor
has seen it.  A release, such as a signal, publishes a copy of the clock, and the actor's time goes on.  An actor
that acquires the copy, by a wait or a barrier, has seen everything before the release.
"""

from collections.abc import Hashable
from typing import Any

import numpy as np

CAPACITY = 1024  # number of components; further actors share them, which hides races between actors of one component

Seen = np.ndarray[Any, Any]  # (CAPACITY,) int64


class Clock:
    """The clock of an actor.

    component: component of the actor;  time: time of its accesses;  seen: the times of all components before it
    """

    __slots__ = ("clocks", "component", "seen", "time")

    def __init__(self, clocks: "Clocks", name: Hashable, *before: Seen | None):
        self.clocks, self.component = clocks, clocks.component(name)
        self.seen: Seen = np.zeros(CAPACITY, np.int64)
        for earlier in before:
            self.acquire(earlier)
        self.tick()

    def tick(self) -> None:
        """Let the actor's time go on."""
        self.clocks.times[self.component] += 1
        self.time = self.seen[self.component] = self.clocks.times[self.component]

    def acquire(self, seen: Seen | None) -> None:
        """Order the following accesses after everything before a release."""
        if seen is not None:
            np.maximum(self.seen, seen, out=self.seen)

    def release(self) -> Seen:
        """A copy of ``seen``; the following accesses are not in it."""
        released = self.seen.copy()
        self.tick()
        return released


class Clocks:
    """The components of a machine, and the clocks that its synchronisation words carry.

    times: present time of each component
    words: {(PE, address) of a signal, a lock, a counter or a packet: what an actor that acquires it has seen}
    """

    def __init__(self) -> None:
        self._components: dict[Hashable, int] = {}
        self.times = [0] * CAPACITY
        self.words: dict[tuple[int, int], Seen] = {}

    def component(self, name: Hashable) -> int:
        """The component of the actors with a name, of which only one runs at a time."""
        return self._components.setdefault(name, len(self._components) % CAPACITY)

    def exchange(self, clock: Clock, pe: int, address: int) -> None:
        """Order an actor that reads and writes a word atomically."""
        clock.acquire(self.words.get((pe, address)))
        self.words[pe, address] = clock.release()


def merged(first: Seen | None, second: Seen) -> Seen:
    """The times that at least one of two clocks has seen."""
    return second if first is None else np.maximum(first, second)
