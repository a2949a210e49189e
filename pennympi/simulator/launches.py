"""Entries of streams, the blocks of launches, and their warps as fibers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels.block import POISON
from .clocks import Clock, Seen, merged
from .faults import Fault, OutOfBounds
from .fibers import Fiber
from .lines import UNKNOWN
from .memory import is_of_another_call, rounds_after
from .network import Stores

if TYPE_CHECKING:
    from .device import LaunchQueue, Machine

WORDS = np.dtype("int64"), np.dtype("int64")
COMPONENTS = 16  # components of clocks that the blocks of a stream use in turn


@dataclass
class Launch:
    """An entry of a stream.

    what:   name in messages;  kernel: a kernel, or a function of the host or a copy engine;  args: its arguments
    dtypes: dtypes of elements and partials;  op: op of its reduction
    tagged: whether a kernel's epochs carry the call's tag; None: not a kernel
    begin:  called when its turn comes;  end: called when all its blocks have ended
    line:   line of the program that launched it;  seen: what the program had seen at the launch
    pes:    the PEs of its team, by their numbers in the team; None: all
    """

    what: str
    kernel: Callable[..., Any]
    args: Sequence[Any] = ()
    blocks: int = 1
    dtypes: tuple[Any, Any] = WORDS
    op: str = "sum"
    begin: Callable[[], None] | None = None
    end: Callable[[], None] | None = None
    tagged: bool | None = None
    line: int = UNKNOWN
    seen: Seen | None = None
    pes: Sequence[int] | None = None


class Block:
    """A running block, and the state that its warps share.

    under_way: number of its messages by NVSHMEM that have not arrived;  left: number of warps that have not ended
    delivered: what its messages that have arrived have seen
    reached:   the primitive that a warp has reached and not all warps have left;  worker: the warp that does its work
    """

    def __init__(self, machine: "Machine", stream: "LaunchQueue", launch: Launch, index: int):
        self.machine, self.stream, self.pe, self.launch, self.index = machine, stream, stream.me, launch, index
        self.stores, self.under_way, self.delivered = Stores(machine.network, self.pe), 0, None
        n_warps = 1 if launch.tagged is None else machine.warps  # a copy engine has one warp
        self.warps = [Warp(self, k) for k in range(n_warps)]
        self.left, self.reached, self.worker = n_warps, "", 0
        self._arrived, self._barriers, self._results = 0, 0, [None, None]
        self._addends: list[Any] = [None] * n_warps
        self._seen: list[Seen | None] = [None, None]  # what the warps at a barrier have seen
        self._end: Seen | None = None  # what the ended warps have seen

    def barrier(self, warp: "Warp", name: str) -> None:
        """Wait until all warps are in this call of a primitive; the following is ordered after everything before."""
        n_warps = len(self.warps)
        if n_warps == 1:
            return
        if self.reached != name:
            self._come(name, 0)
        barrier = self._barriers
        half = barrier & 1  # no warp is two barriers ahead of another
        self._arrived += 1
        self._seen[half] = merged(self._seen[half], warp.clock.release())
        if self._arrived == n_warps:
            self._arrived, self._barriers, self.reached = 0, barrier + 1, ""
            self._seen[1 - half] = None
            self.machine.scheduler.wake((self, barrier))
        while self._barriers == barrier:
            warp.sleep((self, barrier))
        warp.clock.acquire(self._seen[half])

    def by_one_warp(self, warp: "Warp", worker: int, work: Callable[..., Any], args: Sequence[Any]) -> Any:
        """The result of a warp's work, in all warps: work begins when this warp comes, and all wait for its end."""
        if len(self.warps) == 1:
            return work(warp, *args)
        self._come(work.__name__, worker)
        half = self._barriers & 1  # no warp is two barriers ahead of another
        if self.worker == warp.number:
            self._results[half] = work(warp, *args)
        self.barrier(warp, work.__name__)
        return self._results[half]

    def total(self, warp: "Warp", addend: Any) -> Any:
        """The sum of all warps' addends, in all warps."""
        self.barrier(warp, "total")
        self._addends[warp.number] = addend
        self.barrier(warp, "total")
        return sum(self._addends[1:], start=self._addends[0])

    def done(self, warp: "Warp") -> None:
        """Note that a warp has ended."""
        self._come("", 0)
        del self.machine.alive[warp]
        self.left -= 1
        self._end = merged(self._end, warp.clock.seen)
        if not self.left:
            self.stores.release()
            self.stream.done(self._end)

    def _come(self, name: str, worker: int) -> None:
        """Note that a warp comes to a primitive, or to its end.  Raises Fault if another warp waits elsewhere."""
        if (self.reached and self.reached != name) or (name and self.left < len(self.warps)):
            raise Fault(f"a warp is at {name or 'its end'}, and another one at {self.reached or 'its end'}")
        if not self.reached:
            self.reached, self.worker = name, worker


class Warp(Fiber):
    """A running warp, which also acts as a thread: number ``number`` of its block."""

    def __init__(self, block: Block, number: int):
        super().__init__(block.machine, block.pe, self._body)
        self.gr_context = block.machine.context.copy()
        self.block, self.number, self.launch, self.wanted = block, number, block.launch, 0
        self.item, self.partial = block.launch.dtypes
        self.op = block.launch.op
        self.pes = range(self.machine.n_pes) if block.launch.pes is None else block.launch.pes
        turn = (block.stream, block.index % COMPONENTS, number)
        self.clock = Clock(self.memory.clocks, turn, block.stream.seen)

    def line(self) -> int:
        """Number of its current line."""
        return super().line() or self.launch.line

    def peer(self, number: int) -> int:
        """Number in the machine of a PE of the team.  Raises OutOfBounds."""
        if not 0 <= number < len(self.pes):
            line = self.memory.lines.text(self.line())
            raise OutOfBounds(f"PE {number} is outside this team of {len(self.pes)} PEs, at {line}")
        return self.pes[number]

    def wait(self, pe: int, address: int, value: int) -> None:
        """Wait until a word of a PE is at least ``value``, or this PE gives up: by itself, or because of poison."""
        word, patience = self.memory.word(pe, address), self.machine.patience
        tagged, self.wanted = bool(self.launch.tagged), value  # for the message of a deadlock
        while self._is_early(word[0], value, tagged) and not patience.is_over(self.pe):
            self.sleep((pe, address))
        self.clock.acquire(self.memory.clocks.words.get((pe, address)))
        self.network.unseen.pop((pe, address), None)
        if tagged and is_of_another_call(word[0], value):
            self.machine.mismatch(self.pe, value, word[0])
        if word[0] >= POISON or self._is_early(word[0], value, tagged):
            self.machine.give_up(self.pe)
        if patience.gave_up[self.pe] and patience.quiet:
            self.network.quiet(self)
        self.pause()

    def _is_early(self, content: int, value: int, tagged: bool) -> bool:
        """Whether a word has not reached ``value``; poison ends a wait whatever its round."""
        return content < POISON and (rounds_after(content, value) < 0 if tagged else content < value)

    def _body(self) -> None:
        try:
            self.launch.kernel(*self.launch.args)
            self.block.done(self)
        except Exception as fault:  # a kernel may raise any exception
            launched = self.memory.lines.text(self.launch.line)
            where = f"PE {self.pe}, block {self.block.index}, warp {self.number}; launched at {launched}"
            fault.add_note(f"in {self.launch.what}, {where}")
            raise
