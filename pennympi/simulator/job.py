"""The processes of a job in the simulator: meetings without messages, and calls that are compared when they are made."""

import pickle
from collections import Counter
from collections.abc import Sequence
from typing import Any

from greenlet import getcurrent

from ..errors import CollectiveMismatchError
from ..job.control import tag_of
from ..job.process import Process
from .clocks import Seen, merged
from .device import Machine


class Meeting:
    """A meeting.  brought: {PE of the group: its object};  seen: what the PEs that have come have seen"""

    def __init__(self) -> None:
        self.brought: dict[int, bytes] = {}
        self.seen: Seen | None = None


class Group:
    """PEs that make the same calls: those of a team, or of a communicator.

    pes:         numbers of the PEs in the machine, by their numbers in the group
    allocations: addresses of the team's memory, in order;  releases: {address: number of PEs that have released it}
    n_meetings:  {PE: number of its meetings}
    """

    def __init__(self, machine: Machine, pes: Sequence[int]):
        self.machine, self.pes, self.n_pes = machine, pes, len(pes)
        self.allocations: list[int] = []
        self.releases = Counter[int]()
        self._calls: list[tuple[str, int, int]] = []  # text, and PE and line of the first PE that made the call
        self._n_calls = Counter[int]()  # {PE: number of its calls}
        self._meetings: dict[int, Meeting] = {}
        self.n_meetings = Counter[int]()

    def enter(self, pe: int, text: str) -> None:
        """Note that a PE makes its next call.  Raises CollectiveMismatchError if another PE's call differs."""
        program: Any = getcurrent()
        number = self._n_calls[pe]
        self._n_calls[pe] += 1
        line, lines = program.line(), self.machine.memory.lines
        if number == len(self._calls):
            self._calls.append((text, pe, line))
        first, first_pe, first_line = self._calls[number]
        if text != first:
            raise CollectiveMismatchError(
                f"call {number + 1} of PE {pe} at {lines.text(line)} is {text}, and that of PE {first_pe} at "
                f"{lines.text(first_line)} is {first}: the PEs of a team make the same calls in the same order"
            )

    def gather(self, pe: int, obj: Any, what: str) -> list[Any]:
        """The objects of all PEs for their next meeting."""
        program: Any = getcurrent()
        self.n_meetings[pe] += 1
        number = self.n_meetings[pe]
        meeting = self._meetings.setdefault(number, Meeting())
        meeting.brought[pe] = pickle.dumps(obj, pickle.HIGHEST_PROTOCOL)
        meeting.seen = merged(meeting.seen, program.clock.release())
        key = ("meeting", (id(self), number), f"the other PEs in {what}")
        if len(meeting.brought) == self.n_pes:
            program.scheduler.wake(key)
        while len(meeting.brought) < self.n_pes:
            program.sleep(key)
        program.clock.acquire(meeting.seen)
        program.pause()
        return [pickle.loads(meeting.brought[k]) for k in range(self.n_pes)]


class Control:
    """The simulator's counterpart of ``pennympi.job.control.Control``."""

    def __init__(self, machine: Machine, me: int, group: Group):
        node_of = [machine.network.node_of[pe] for pe in group.pes]
        self.processes = [Process(f"node {node}", pe, f"node {node}") for pe, node in enumerate(node_of)]
        self.pes = [pe for pe, node in enumerate(node_of) if node == node_of[me]]
        self.local, self.n_local, self.machine_pes = self.pes.index(me), len(self.pes), self.pes
        self._me, self._group, self._machine = me, group, machine

    def enter(self, text: str) -> None:
        """Enter a collective call."""
        self._group.enter(self._me, text)
        self.write_down(text)

    def write_down(self, text: str) -> None:
        """Store the text of a call for messages."""
        self._machine.call_texts[tag_of(text)] = text


class SimulatedJob:
    """The simulator's counterpart of ``pennympi.job.job.Job``."""

    def __init__(self, machine: Machine, me: int, group: Group, comm: Any):
        self.me, self.n_pes, self.comm, self.own_comm = me, group.n_pes, comm, comm
        self.timeout_s, self._group = 60.0, group
        self.control = Control(machine, me, group)
        self.processes: Sequence[Process] = self.control.processes

    def gather(self, obj: Any, what: str) -> list[Any]:
        """Every PE's ``obj``, in order of PE.  Raises as ``pennympi.job.job.Job.gather``."""
        self.control.enter(what)
        return self._group.gather(self.me, obj, what)

    def rendezvous(self, what: str) -> None:
        """Wait for every PE."""
        self.gather(None, what)

    def close(self) -> None:
        """End the job."""
        self.rendezvous("finalize")
