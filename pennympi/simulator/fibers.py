"""A fiber: what runs until it pauses or waits, as the scheduler has it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from greenlet import GreenletExit, greenlet

from .clocks import Clock

if TYPE_CHECKING:
    from .device import Machine


class Fiber(greenlet):
    """An actor that is a greenlet.

    pe: where it runs;  clock: of its accesses;  waits_for: the key that it sleeps for, None: it can run
    """

    clock: Clock

    def __init__(self, machine: "Machine", pe: int, body: Callable[[], None]):
        super().__init__(body, machine.main)
        self.machine, self.pe, self.priority = machine, pe, 0.0
        self.memory, self.network, self.scheduler = machine.memory, machine.network, machine.scheduler
        self.left = 0  # steps until it lets others run
        self.waits_for: Any = None

    def line(self) -> int:
        """Where it is in the user's files."""
        return self.memory.lines.here()

    def step(self) -> bool:
        """Run until the burst is used up or it waits.  False if it cannot go on."""
        self.left = self.scheduler.burst()
        self.switch()
        return not self.dead and self.waits_for is None

    def pause(self) -> None:
        """Let others run, if it is time."""
        self.left -= 1
        if self.left < 0:
            self._leave()

    def sleep(self, key: Any) -> None:
        """Let others run until ``key`` is woken."""
        self.waits_for = key
        self.scheduler.sleep(self, key)
        self._leave()
        self.waits_for = None

    def _leave(self) -> None:
        if self.machine.has_ended:
            raise GreenletExit
        self.machine.main.switch()
