"""Streams of a simulated PE: launches run later, in any order that streams and events allow.

Launches in the default stream have run when the call returns, as on a CPU.  It is still checked that something orders
them and the work of other streams.
"""

from collections.abc import Sequence
from itertools import cycle
from typing import Any

from greenlet import getcurrent

from ..backend import Body
from ..memory.order import Order
from . import device
from .clocks import Seen
from .launches import Launch


class Moment:
    """A position in a stream.  passed: whether the stream has reached it;  seen: what the work before it has seen"""

    def __init__(self) -> None:
        self.passed = False
        self.seen: Seen | None = None


class Event:
    """The simulator's counterpart of a CUDA event.  moment: position of its last record"""

    def __init__(self, streams: "Streams"):
        self._streams, self.moment = streams, Moment()
        self.moment.passed = True

    def record(self, stream: Any = None) -> None:
        """Record the event after all work that a stream holds now."""
        self._streams.record(self, self._streams.handle(stream))

    def synchronize(self) -> None:
        """Wait until the stream has reached the event."""
        program: Any = getcurrent()
        while not self.moment.passed:
            program.sleep(("event", self.moment))
        program.clock.acquire(self.moment.seen)


class Stream:
    """The simulator's counterpart of a CUDA stream.  priority: "normal" or "high"; without effect"""

    def __init__(self, streams: "Streams", launches: device.LaunchQueue, priority: str = "normal"):
        self.priority, self.launches, self._streams = priority, launches, streams

    def __repr__(self) -> str:
        return f"<stream of a simulated PE, priority {self.priority!r}>"

    def synchronize(self) -> None:
        """Wait until all work in the stream has run."""
        self._streams.synchronize(self)

    def record(self, event: Event | None = None) -> Event:
        """An event that passes when all work that the stream holds now has run."""
        event = event or Event(self._streams)
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Order later work of this stream after the event."""
        self._streams.wait(event, self._streams.handle(self))

    def __enter__(self) -> "Stream":
        self._streams.entered.append(self)
        return self

    def __exit__(self, *exc: Any) -> None:
        self._streams.entered.pop()


class Streams:
    """See ``pennympi.backend.Streams``, and the events of its order (``pennympi.memory.order.Events``).

    entered: the streams of ``with`` statements, the current stream last;  default: the default stream
    """

    def __init__(self, machine: device.Machine, pe: int):
        self._machine, self._pe = machine, pe
        self.default = Stream(self, machine.pes[pe])
        self.entered, self._by_handle = [self.default], {0: self.default}
        self._handles = {self.default: 0}
        self.order = Order(self)

    def new(self, priority: str = "normal") -> Stream:
        """A new stream."""
        stream = Stream(self, device.LaunchQueue(self._machine, self._pe), priority)
        self._handles[stream] = handle = len(self._handles)
        self._by_handle[handle] = stream
        return stream

    def current(self) -> Stream:
        """The stream of the innermost ``with`` statement."""
        return self.entered[-1]

    def handle(self, stream: Any) -> int:
        """The number of a stream of this PE.  Raises TypeError."""
        stream = self.current() if stream is None else stream
        try:
            return self._handles[stream]
        except (KeyError, TypeError):
            raise TypeError(f"{type(stream).__name__} is not a stream of this PE: use team.stream(), or None") from None

    def launches(self, handle: int) -> device.LaunchQueue:
        """The launches of a stream."""
        return self._by_handle[handle].launches

    def push(self, launch: Launch, handle: int, wait: bool = False) -> None:
        """Enqueue a launch.  wait: wait until it has run"""
        program: Any = getcurrent()
        launches = self.launches(handle)
        launch.line, launch.seen = program.line(), program.clock.release()
        launches.push(launch)
        if wait or handle == 0:
            program.wait_for(launches)
        program.pause()

    def synchronize(self, stream: Any) -> None:
        """Wait for a stream, or for all streams of this PE and its puts."""
        program: Any = getcurrent()
        for each_stream in [stream] if stream is not None else self._handles:
            launches = self.launches(self.handle(each_stream))
            program.wait_for(launches)
            program.clock.acquire(launches.seen)
        if stream is None:
            self._machine.network.quiet(program)
        program.pause()

    def follow(self, stream: int, predecessor: int) -> None:
        event = Event(self)
        self.record(event, predecessor)
        self.wait(event, stream)

    def hold_if_given_up(self, stream: int) -> None:
        """Do nothing: no PE gives up."""

    def repeat(self, start: Body, bodies: Sequence[Body], rest: int) -> Body:
        def run(stream: Any) -> None:
            stream = self.current() if stream is None else stream
            start(stream)
            for body in cycle(bodies):
                body(stream)
                self.synchronize(stream)
                if self._machine.memory.load(self._pe, rest):
                    break

        return run

    # The events of the order of calls --------------------------------------------------
    def is_capturing(self, handle: int) -> bool:
        """Return False: there are no captures."""
        return False

    def capture_id(self, handle: int) -> int:
        """Return 0: there are no captures."""
        return 0

    def owner(self, stream: Any) -> Any:
        """Return the stream itself."""
        return self.current() if stream is None else stream

    def new_event(self) -> Event:
        return Event(self)

    def record(self, event: Event, handle: int) -> None:
        moment = event.moment = Moment()

        def pass_by() -> None:
            warp: Any = getcurrent()
            moment.passed, moment.seen = True, warp.clock.release()
            warp.scheduler.wake(("event", moment))

        self.push(Launch("record of an event", pass_by), handle)

    def wait(self, event: Event, handle: int) -> None:
        moment = event.moment

        def until_passed() -> None:
            warp: Any = getcurrent()
            while not moment.passed:
                warp.sleep(("event", moment))
            warp.clock.acquire(moment.seen)

        self.push(Launch("wait for an event", until_passed), handle)

    def wait_external(self, event: Any, handle: int) -> None:
        """Do nothing: there are no captures."""

    def wait_for_end(self, handle: int, end: Any) -> None:
        """Do nothing: there are no captures."""

    def record_at_end(self, event: Any, handle: int, end: Any) -> Any:
        """Do nothing: there are no captures."""
