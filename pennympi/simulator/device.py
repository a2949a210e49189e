"""The machine: PEs that run programs and launches under a scheduler."""

from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from random import Random
from typing import NamedTuple

import numpy as np
from greenlet import getcurrent

from ..kernels.algorithm import Topology
from ..kernels.block import plain_python
from . import packets, peers  # noqa: F401 - they register their implementations
from .clocks import Clock, Seen, merged
from .deadlock import described
from .faults import Deadlock, Fault
from .fibers import Fiber
from .implementations import IMPLEMENTATIONS
from .launches import Block, Launch
from .memory import EPOCHS, Memory
from .network import COPIED, POINTER, Network
from .scheduler import Patience, Scheduler

MEMORY_BYTES = 8 << 20  # memory of a PE
SLOTS = (1, 2, 8)  # numbers of blocks of a launch that run at once


class Abilities(NamedTuple):
    """The abilities of a machine's devices: fields of ``pennympi.backend.Backend`` and of its ``Peers``."""

    max_blocks: int = 1
    buffer_bytes: int = 1 << 14
    multicast: bool = False


class LaunchQueue:
    """Launches of a PE that run one after another, on a device with some slots for blocks.

    The blocks of a launch are dispatched in order, as slots become free.
    slots: blocks that run at once
    seen:  what the launches that have ended have seen, and what the running launch had seen at its start
    """

    def __init__(self, machine: "Machine", me: int):
        self.machine, self.me = machine, me
        self.slots = max(machine.rng.choice(SLOTS), machine.abilities.max_blocks)  # all blocks of an exchange run at once
        self.launches = deque[Launch]()  # the first launch runs
        self.seen: Seen | None = None
        self._end: Seen | None = None
        self._dispatched, self._ended = 0, 0  # blocks of the first launch

    def push(self, launch: Launch) -> None:
        """Append a launch to the stream, and start it if no launch runs."""
        self.launches.append(launch)
        if len(self.launches) == 1:
            self.start()

    def start(self) -> None:
        """Start the first launch, if the stream is not empty."""
        self._dispatched, self._ended, self._end = 0, 0, None
        if self.launches:
            launch = self.launches[0]
            if launch.seen is not None:
                self.seen = merged(self.seen, launch.seen)
            if launch.begin:
                launch.begin()
            for _ in range(min(self.slots, launch.blocks)):
                self._dispatch()

    def done(self, seen: Seen) -> None:
        """Note that a block has ended."""
        launch = self.launches[0]
        self._ended += 1
        self._end = merged(self._end, seen)
        if self._dispatched < launch.blocks:
            self._dispatch()
        elif self._ended == launch.blocks:
            self.seen = merged(self.seen, self._end)
            if launch.end:
                launch.end()
            self.launches.popleft()
            self.start()
            if not self.launches:
                self.machine.scheduler.wake(("stream", self))

    def _dispatch(self) -> None:
        block = Block(self.machine, self, self.launches[0], self._dispatched)
        self._dispatched += 1
        for warp in block.warps:
            self.machine.scheduler.add(warp)
            self.machine.alive[warp] = None


class Program(Fiber):
    """The program of a PE's host."""

    def __init__(self, machine: "Machine", pe: int, body: Callable[[], None]):
        super().__init__(machine, pe, body)
        self.gr_context = copy_context()
        self.clock = Clock(self.memory.clocks, ("program", pe))

    def wait_for(self, stream: LaunchQueue) -> None:
        """Wait until all launches of a stream have run."""
        while stream.launches:
            self.sleep(("stream", stream))


class Machine:
    """A team of PEs under a seeded scheduler.

    network: a network of ``NETWORKS``;  topology: with the node of each PE;  memory_bytes: memory of each PE
    pes:     the default stream of each PE;  alive: the fibers that have not ended
    context: context of warps, in which NumPy gives no warnings about arithmetic with garbage
    """

    def __init__(
        self,
        network: str,
        topology: Topology,
        rng: Random,
        memory_bytes: int = MEMORY_BYTES,
        abilities: Abilities = Abilities(),  # noqa: B008 - it never changes
    ):
        n_pes = topology.n_pes
        self.topology, self.rng, self.n_pes = topology, rng, n_pes
        self.memory = Memory(n_pes, memory_bytes, rng)
        self.scheduler = Scheduler(rng, n_pes)
        apart = network != POINTER and rng.random() < 0.5  # then PEs of one node do not reach each other by pointer
        node_of = tuple(range(n_pes)) if apart else topology.node_of
        self.network = Network(network, node_of, self.memory, self.scheduler)
        self.warps = 1 if network == COPIED else rng.choice((1, 1, 2, 3))  # warps of a block; a host block is one thread
        self.polls_together = rng.random() < 0.5  # a thread polls the packets of all PEs at once
        self.may_differ, self.noticed = False, set[int]()  # whether PEs may make different calls; PEs that noticed it
        self.noticed_why = set[int]()  # the values of ``why`` of refuse_count
        self.alive: dict[Fiber, None] = {}
        self.has_ended = False
        self.abilities = abilities
        self.call_texts: dict[int, str] = {}  # {tag: text}
        self.results: dict[tuple[int, int], bytes] = {}  # {(PE, address): final content of a symmetric array}
        with np.errstate(all="ignore"):
            self.context: Context = copy_context()
        self.patience = Patience(n_pes)
        self.network.gave_up = self.patience.gave_up
        self.pes = [LaunchQueue(self, me) for me in range(n_pes)]
        self.main = getcurrent()  # the greenlet of the scheduler

    def run(self) -> None:
        """Run all launches of all streams.  Raises Fault."""
        plain_python.update(IMPLEMENTATIONS)
        self.memory.checks = not self.patience.ends  # after a wait that gave up, kernels compute garbage
        try:
            for pe in self.pes:
                pe.start()
            self.scheduler.run()
            while self.patience.ends and self.alive:  # the waiting PEs give up, one after another
                self.give_up(self.rng.choice(list(self.alive)).pe)
                self.scheduler.run()
            if self.alive:
                raise Deadlock(described(self))
        finally:
            self.has_ended = True
            for fiber in list(self.alive):
                fiber.throw()
            plain_python.clear()

    def add_program(self, pe: int, program: Callable[[], None]) -> None:
        """Let the host of a PE run a program."""

        def body() -> None:
            program()
            del self.alive[fiber]

        fiber = Program(self, pe, body)
        self.alive[fiber] = None
        self.scheduler.add(fiber)

    def give_up(self, pe: int) -> None:
        """Let a PE give up: its waits end, and it sends poison."""
        if not self.patience.gave_up[pe]:
            self.patience.gave_up[pe] = True
            self.scheduler.wake_all()

    def mismatch(self, pe: int, wanted: int = 0, received: int = 0) -> None:
        """Handle a message of another call, or a wrong count.  Raises Fault if all PEs should make the same calls."""
        if not self.may_differ:
            calls = [self.call_texts.get(word // EPOCHS, "") for word in (wanted, received)]
            words = f": it is in {calls[0]}, and the message is of {calls[1]}" if all(calls) else ""
            raise Fault(f"PE {pe} found another call's message, or another count{words}")
        self.noticed.add(pe)
        self.give_up(pe)
