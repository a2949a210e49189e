"""PEs that run programs and launches, and the machine that schedules them."""

from collections import deque
from collections.abc import Callable, Sequence
from contextvars import Context, copy_context
from random import Random
from typing import NamedTuple

import numpy as np
from greenlet import getcurrent

from ..kernels.algorithm import Topology
from ..kernels.block import plain_python
from . import packets, peers  # noqa: F401 - whose implementations are entered
from .clocks import Clock, Seen, together
from .deadlock import described
from .faults import Deadlock, Fault
from .fibers import Fiber
from .implementations import IMPLEMENTATIONS
from .launches import Block, Launch
from .memory import EPOCHS, Memory
from .network import COPIED, POINTER, Network
from .scheduler import Patience, Scheduler

MEMORY_BYTES = 8 << 20  # of a PE
SLOTS = (1, 2, 8)  # blocks of a launch that run at a time


class Abilities(NamedTuple):
    """What the devices of a machine can do: fields of ``pennympi.backend.Backend``, and of its ``Peers``."""

    max_blocks: int = 1
    buffer_bytes: int = 1 << 14
    multicast: bool = False


class Stream:
    """Launches of a PE that run one after another, on a device with some slots for blocks.

    The blocks of a launch are dispatched in order, as slots get free.
    slots: blocks that run at a time;  seen: by the launches that have ended, and by the one that runs when it began
    """

    def __init__(self, machine: "Machine", me: int):
        self.machine, self.me = machine, me
        self.slots = max(machine.rng.choice(SLOTS), machine.abilities.max_blocks)  # all blocks of an exchange run at once
        self.launches = deque[Launch]()  # the first one runs
        self.seen: Seen | None = None
        self._end: Seen | None = None
        self._dispatched, self._ended = 0, 0  # blocks of the first one

    def issue(self, launches: Sequence[Launch]) -> None:
        """Put launches into the stream."""
        self.launches.extend(launches)

    def push(self, launch: Launch) -> None:
        """Put a launch into the stream, which begins if nothing runs there."""
        self.launches.append(launch)
        if len(self.launches) == 1:
            self.start()

    def start(self) -> None:
        """Begin the first launch, if there is any."""
        self._dispatched, self._ended, self._end = 0, 0, None
        if self.launches:
            launch = self.launches[0]
            if launch.seen is not None:
                self.seen = together(self.seen, launch.seen)
            if launch.begin:
                launch.begin()
            for _ in range(min(self.slots, launch.blocks)):
                self._dispatch()

    def done(self, seen: Seen) -> None:
        """A block has ended."""
        launch = self.launches[0]
        self._ended += 1
        self._end = together(self._end, seen)
        if self._dispatched < launch.blocks:
            self._dispatch()
        elif self._ended == launch.blocks:
            self.seen = together(self.seen, self._end)
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
    """What the host of a PE runs."""

    def __init__(self, machine: "Machine", pe: int, body: Callable[[], None]):
        super().__init__(machine, pe, body)
        self.gr_context = copy_context()
        self.clock = Clock(self.memory.clocks, ("program", pe))

    def wait_for(self, stream: Stream) -> None:
        """Until all that is in a stream has run."""
        while stream.launches:
            self.sleep(("stream", stream))


class Machine:
    """A team of PEs under a seeded scheduler.

    network: one of ``NETWORKS``;  place: which node each PE is on;  memory_bytes: of each PE
    pes:     the stream of each PE that programs do not name;  alive: the fibers that have not ended
    context: of warps: garbage is added up without warnings
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
        apart = network != POINTER and rng.random() < 0.5  # PEs of one node need not reach one another by pointer
        node_of = tuple(range(n_pes)) if apart else topology.node_of
        self.network = Network(network, node_of, self.memory, self.scheduler)
        self.warps = 1 if network == COPIED else rng.choice((1, 1, 2, 3))  # of a block, which is a thread there
        self.together = rng.random() < 0.5  # a thread polls the packets of all PEs at once
        self.may_differ, self.noticed = False, set[int]()  # whether PEs may make different calls; the PEs that noticed it
        self.noticed_why = set[int]()  # of counts
        self.alive: dict[Fiber, None] = {}
        self.has_ended = False
        self.abilities = abilities
        self.call_texts: dict[int, str] = {}  # by tag
        self.results: dict[tuple[int, int], bytes] = {}  # by (PE, address): what symmetric arrays hold at the end
        with np.errstate(all="ignore"):
            self.context: Context = copy_context()
        self.patience = Patience(n_pes)
        self.network.gave_up = self.patience.gave_up
        self.pes = [Stream(self, me) for me in range(n_pes)]
        self.main = getcurrent()  # all blocks return to it

    def run(self) -> None:
        """All launches of all streams.  Raises Fault."""
        plain_python.update(IMPLEMENTATIONS)
        self.memory.checks = not self.patience.ends  # what follows a wait that gave up is garbage
        try:
            for pe in self.pes:
                pe.start()
            self.scheduler.run()
            while self.patience.ends and self.alive:  # the PEs that wait give up, one after another
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
        """A PE takes no more part: what waits there goes on, and what it sends is poison."""
        if not self.patience.gave_up[pe]:
            self.patience.gave_up[pe] = True
            self.scheduler.wake_all()

    def mismatch(self, pe: int, wanted: int = 0, found: int = 0) -> None:
        """A PE has found another call's message, or another count.  Raises Fault where all PEs make the same calls."""
        if not self.may_differ:
            calls = [self.call_texts.get(word // EPOCHS, "") for word in (wanted, found)]
            words = f": it is in {calls[0]}, and the message is of {calls[1]}" if all(calls) else ""
            raise Fault(f"PE {pe} found another call's message, or another count{words}")
        self.noticed.add(pe)
        self.give_up(pe)
