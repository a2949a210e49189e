"""Vector clocks: which accesses come before which, by what the rules guarantee and not by how a schedule went.

An actor (a program, a warp, a message) has a component, and a clock that says how far into each component's time it has
seen.  A release, such as a signal, gives a copy of the clock away, and time goes on; who acquires it, by a wait or a
barrier, has seen what came before.
"""

from collections.abc import Hashable
from typing import Any

import numpy as np

CAPACITY = 1024  # components; more of them share one, which hides what is between them

Seen = np.ndarray[Any, Any]  # (CAPACITY,) int64


class Clock:
    """The clock of one actor.

    component: its own;  time: of its accesses, there;  seen: all components' times that come before
    """

    __slots__ = ("clocks", "component", "seen", "time")

    def __init__(self, clocks: "Clocks", name: Hashable, *before: Seen | None):
        self.clocks, self.component = clocks, clocks.component(name)
        self.seen: Seen = np.zeros(CAPACITY, np.int64)
        for one in before:
            self.acquire(one)
        self.tick()

    def tick(self) -> None:
        """Let time go on."""
        self.time = self.clocks.next_time(self.component)
        self.seen[self.component] = self.time

    def acquire(self, seen: Seen | None) -> None:
        """What comes next comes after all that a release gave away."""
        if seen is not None:
            np.maximum(self.seen, seen, out=self.seen)

    def release(self) -> Seen:
        """A copy of what has been seen; what comes next is not in it."""
        given = self.seen.copy()
        self.tick()
        return given


class Clocks:
    """The components of one machine, and what its synchronisation words carry.

    words: by (PE, address) of a signal, a lock, a counter or a packet: what who acquires it has seen
    """

    def __init__(self) -> None:
        self._components: dict[Hashable, int] = {}
        self._times = [0] * CAPACITY
        self.words: dict[tuple[int, int], Seen] = {}

    def component(self, name: Hashable) -> int:
        """The component of actors of a name, of which one runs at a time."""
        return self._components.setdefault(name, len(self._components) % CAPACITY)

    def next_time(self, component: int) -> int:
        """The next moment of a component."""
        self._times[component] += 1
        return self._times[component]

    def publish(self, pe: int, address: int, seen: Seen) -> None:
        """A word carries this, and nothing of what it carried."""
        self.words[pe, address] = seen

    def exchange(self, clock: Clock, pe: int, address: int) -> None:
        """A word is read and written at once, as an atomic addition does."""
        clock.acquire(self.words.get((pe, address)))
        self.words[pe, address] = clock.release()


def together(one: Seen | None, other: Seen) -> Seen:
    """What both have seen."""
    return other if one is None else np.maximum(one, other)
