"""PEs that run launches one after another, the blocks of a launch, and their warps as greenlets."""

from collections import deque
from collections.abc import Callable, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
from greenlet import getcurrent, greenlet

from ..compile.bind import is_tagged
from ..kernels.algorithm import Topology
from ..kernels.block import plain_python
from . import packets, peers  # noqa: F401 - whose implementations are entered
from .clocks import Clock, Seen, together
from .faults import Deadlock, Fault
from .implementations import IMPLEMENTATIONS
from .lines import UNKNOWN
from .memory import POISON, Memory, is_of_another_call, rounds_after
from .network import COPIED, POINTER, Network, Stores
from .scheduler import Patience, Scheduler

MEMORY_BYTES = 8 << 20  # of a PE
DTYPES = {
    "int64": (np.dtype("int64"), np.dtype("int64")),
    "float32": (np.dtype("float32"), np.dtype("float32")),
    "float16": (np.dtype("float16"), np.dtype("float32")),
    "byte": (np.dtype("uint8"), np.dtype("uint8")),
}  # name: (elements, partials)
SLOTS = (1, 2, 8)  # blocks of a launch that run at a time
COMPONENTS = 16  # of the blocks of a stream


@dataclass
class Launch:
    """One entry of a stream.

    what:   for messages;  kernel: a kernel, or a function of the host's or a copy engine's, and its arguments
    dtype:  name of ``DTYPES``, or the dtypes of elements and partials;  op: of its reduction
    tagged: of a kernel, whether its epochs carry the call's tag;  known: the numbers of its call, by name
    begin:  called when its turn comes;  end: when all its blocks are done
    line:   where the program launched it;  seen: what the program had seen there
    """

    what: str
    kernel: Callable[..., Any]
    args: Sequence[Any] = ()
    blocks: int = 1
    dtype: str | tuple[Any, Any] = "int64"
    op: str = "sum"
    begin: Callable[[], None] | None = None
    end: Callable[[], None] | None = None
    tagged: bool | None = None
    known: dict[str, int] = field(default_factory=dict)
    line: int = UNKNOWN
    seen: Seen | None = None

    @classmethod
    def of(cls, what: str, kernel: Callable[..., Any], args: Sequence[Any], *more: Any, **named: Any) -> "Launch":
        """The launch of a kernel with these arguments, ``ctx`` (the PE's number) first."""
        return cls(what, kernel, args, *more, **named, tagged=is_tagged(kernel))


class Block:
    """One running block: what its warps share.

    under_way: messages that it has sent by NVSHMEM and that have not arrived;  left: warps that have not ended
    delivered: what those that have arrived have seen
    at:        the primitive that its warps have come to and not all left;  worker: the warp that does the work there
    """

    def __init__(self, machine: "Machine", stream: "Stream", launch: Launch, index: int):
        self.machine, self.stream, self.pe, self.launch, self.index = machine, stream, stream.me, launch, index
        self.stores, self.under_way, self.delivered = Stores(machine.network, self.pe), 0, None
        n_warps = 1 if launch.tagged is None else machine.warps  # a copy engine has one
        self.warps = [Warp(self, k) for k in range(n_warps)]
        self.left, self.at, self.worker = n_warps, "", 0
        self._arrived, self._barriers, self._results, self._addends = 0, 0, [None, None], [None] * n_warps
        self._seen: list[Seen | None] = [None, None]  # by the warps that have come to a barrier
        self._end: Seen | None = None  # by those that have ended

    def barrier(self, warp: "Warp", name: str) -> None:
        """Wait until all warps are in this call of a primitive; what comes then comes after all before it."""
        n_warps = len(self.warps)
        if n_warps == 1:
            return
        if self.at != name:
            self._come(name, 0)
        barrier = self._barriers
        half = barrier & 1  # no warp is two barriers ahead of another
        self._arrived += 1
        self._seen[half] = together(self._seen[half], warp.clock.release())
        if self._arrived == n_warps:
            self._arrived, self._barriers, self.at = 0, barrier + 1, ""
            self._seen[1 - half] = None
            self.machine.scheduler.wake((self, barrier))
        while self._barriers == barrier:
            warp.sleep((self, barrier))
        warp.clock.acquire(self._seen[half])

    def by_one(self, warp: "Warp", worker: int, work: Callable[..., Any], args: Sequence[Any]) -> Any:
        """What one warp's work returns, in all warps: it begins when that one comes, and they wait for its end."""
        if len(self.warps) == 1:
            return work(warp, *args)
        self._come(work.__name__, worker)
        half = self._barriers & 1  # no warp is two barriers ahead of another
        if self.worker == warp.number:
            self._results[half] = work(warp, *args)
        self.barrier(warp, work.__name__)
        return self._results[half]

    def total(self, warp: "Warp", addend: Any) -> Any:
        """The sum of what the warps give, in all of them."""
        self.barrier(warp, "total")
        self._addends[warp.number] = addend
        self.barrier(warp, "total")
        return sum(self._addends[1:], start=self._addends[0])

    def done(self, warp: "Warp") -> None:
        """A warp has ended."""
        self._come("", 0)
        del self.machine.alive[warp]
        self.left -= 1
        self._end = together(self._end, warp.clock.seen)
        if not self.left:
            self.stores.release()
            self.stream.done(self._end)

    def _come(self, name: str, worker: int) -> None:
        """A warp comes to a primitive, or to its end.  Raises Fault if another one waits elsewhere."""
        if (self.at and self.at != name) or (name and self.left < len(self.warps)):
            raise Fault(f"a warp is at {name or 'its end'}, and another one at {self.at or 'its end'}")
        if not self.at:
            self.at, self.worker = name, worker


class Warp(greenlet):
    """One running warp, which stands for a thread too: the ``number``-th of its block."""

    def __init__(self, block: Block, number: int):
        machine = self.machine = block.machine
        super().__init__(self._body, machine.main)
        self.gr_context = copy_context()  # garbage is added up without warnings
        self.block, self.number, self.pe, self.launch, self.priority = block, number, block.pe, block.launch, 0.0
        self.memory, self.network, self.scheduler = machine.memory, machine.network, machine.scheduler
        dtype = block.launch.dtype
        self.item, self.partial = DTYPES[dtype] if isinstance(dtype, str) else dtype
        self.op, self.left = block.launch.op, 0
        turn = (block.stream, block.index % COMPONENTS, number)
        self.clock = Clock(machine.memory.clocks, turn, block.stream.seen)
        self.waits_for: Any = None

    def step(self) -> bool:
        """Run until the burst is used up or it waits.  False if it cannot go on."""
        self.left = self.scheduler.burst()
        self.switch()
        return not self.dead and self.waits_for is None

    def line(self) -> int:
        """Where it is."""
        return self.machine.memory.lines.here() or self.launch.line

    def pause(self) -> None:
        """Let others run, if it is time."""
        self.left -= 1
        if self.left < 0:
            self.machine.main.switch()

    def sleep(self, key: Any) -> None:
        """Let others run until ``key`` is woken."""
        self.waits_for = key
        self.scheduler.sleep(self, key)
        self.machine.main.switch()
        self.waits_for = None

    def wait(self, pe: int, address: int, value: int) -> None:
        """Until a word of a PE is at least ``value``, or this PE gives up: by itself, or since the word is poison."""
        word, patience = self.memory.word(pe, address), self.machine.patience
        tagged, self.wanted = bool(self.launch.tagged), value
        while self._is_early(word[0], value, tagged) and not patience.is_over(self.pe):
            self.sleep((pe, address))
        self.clock.acquire(self.memory.clocks.words.get((pe, address)))
        self.network.unseen.pop((pe, address), None)
        if tagged and is_of_another_call(word[0], value):
            self.machine.mismatch(self.pe)
        if word[0] >= POISON or self._is_early(word[0], value, tagged):
            self.machine.give_up(self.pe)
        if patience.gave_up[self.pe] and patience.quiet:
            self.network.quiet(self)
        self.pause()

    def _is_early(self, found: int, value: int, tagged: bool) -> bool:
        """Whether a word is not there yet; poison ends a wait whatever its round."""
        return found < POISON and (rounds_after(found, value) < 0 if tagged else found < value)

    def _body(self) -> None:
        try:
            self.launch.kernel(*self.launch.args)
            self.block.done(self)
        except Fault as fault:
            fault.add_note(f"in {self.launch.what}, PE {self.pe}, block {self.block.index}, warp {self.number}")
            raise


class Stream:
    """Launches of a PE that run one after another, on a device with some slots for blocks.

    The blocks of a launch are dispatched in order, as slots get free.
    slots: blocks that run at a time;  seen: by the launches that have ended, and by the one that runs when it began
    """

    def __init__(self, machine: "Machine", me: int, slots: int):
        self.machine, self.me, self.slots = machine, me, slots
        self.launches = deque[Launch]()  # the first one runs
        self.seen: Seen | None = None
        self._end: Seen | None = None
        self._dispatched, self._ended = 0, 0  # blocks of the first one

    def issue(self, launches: Sequence[Launch]) -> None:
        """Put launches into the stream."""
        self.launches.extend(launches)

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


class Machine:
    """A team of PEs under a seeded scheduler.

    network: one of ``NETWORKS``;  place: which node each PE is on
    """

    def __init__(self, network: str, topology: Topology, rng: Random):
        n_pes = topology.n_pes
        self.topology, self.rng, self.n_pes = topology, rng, n_pes
        self.memory = Memory(n_pes, MEMORY_BYTES, rng)
        self.scheduler = Scheduler(rng, n_pes)
        apart = network != POINTER and rng.random() < 0.5  # PEs of one node need not reach one another by pointer
        node_of = tuple(range(n_pes)) if apart else topology.node_of
        self.network = Network(network, node_of, self.memory, self.scheduler)
        self.warps = 1 if network == COPIED else rng.choice((1, 1, 2, 3))  # of a block, which is a thread there
        self.together = rng.random() < 0.5  # a thread polls the packets of all PEs at once
        self.may_differ, self.noticed = False, set[int]()  # whether PEs may make different calls; the PEs that noticed it
        self.noticed_why = set[int]()  # of counts
        self.alive: dict[Warp, None] = {}
        self.patience = Patience(n_pes)
        self.network.gave_up = self.patience.gave_up
        self.pes = [Stream(self, me, rng.choice(SLOTS)) for me in range(n_pes)]
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
            if any(pe.launches for pe in self.pes):
                stuck = [warp for warp in self.alive if not isinstance(warp.waits_for[0], Block)]
                raise Deadlock("; ".join(self._where(warp) for warp in stuck[:4]))
        finally:
            for warp in list(self.alive):
                warp.throw()
            plain_python.clear()

    def give_up(self, pe: int) -> None:
        """A PE takes no more part: what waits there goes on, and what it sends is poison."""
        if not self.patience.gave_up[pe]:
            self.patience.gave_up[pe] = True
            self.scheduler.wake_all()

    def mismatch(self, pe: int) -> None:
        """A PE has found another call's message, or another count.  Raises Fault where all PEs make the same calls."""
        if not self.may_differ:
            raise Fault(f"PE {pe} found another call's message, or another count")
        self.noticed.add(pe)
        self.give_up(pe)

    def _where(self, warp: Warp) -> str:
        what = f"PE {warp.pe}, {warp.launch.what}, block {warp.block.index} waits for {warp.waits_for}"
        if isinstance(warp.waits_for[0], int):
            pe, address = warp.waits_for
            what += f", which is {self.memory.load(pe, address)}"
        return what
