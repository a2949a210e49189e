"""A fiber: an actor that runs until it pauses or waits."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from greenlet import GreenletExit, greenlet

from .clocks import Clock

if TYPE_CHECKING:
    from .device import Machine


class Fiber(greenlet):
    """An actor that is a greenlet.

    pe: PE on which it runs;  clock: clock of its accesses;  waits_for: key for which it sleeps, None: it can run
    """

    clock: Clock

    def __init__(self, machine: "Machine", pe: int, body: Callable[[], None]):
        super().__init__(body, machine.main)
        self.machine, self.pe, self.priority = machine, pe, 0.0
        self.memory, self.network, self.scheduler = machine.memory, machine.network, machine.scheduler
        self.left = 0  # steps until it lets other actors run
        self.waits_for: Any = None

    def line(self) -> int:
        """Number of its current line in the user's files."""
        return self.memory.lines.current()

    def step(self) -> bool:
        """Run until the burst is over or the fiber waits.  False if it can't go on."""
        self.left = self.scheduler.burst()
        self.switch()
        return not self.dead and self.waits_for is None

    def pause(self) -> None:
        """Let other actors run if the burst is over."""
        self.left -= 1
        if self.left < 0:
            self._leave()

    def sleep(self, key: Any) -> None:
        """Let other actors run until ``key`` is woken."""
        self.waits_for = key
        self.scheduler.sleep(self, key)
        self._leave()
        self.waits_for = None

    def _leave(self) -> None:
        if self.machine.has_ended:
            raise GreenletExit
        self.machine.main.switch()
