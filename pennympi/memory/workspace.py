"""Workspaces of collectives: the memory that peers write, and the signals and epochs that count rounds."""

import gc
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from ..arrays.dtypes import TABLE
from ..backend import Backend
from ..errors import SymmetricHeapExhausted
from ..job.job import Job
from ..kernels.algorithm import Algorithm, Limits, Topology
from ..kernels.records import Work
from .freelist import aligned

FIRST_EPOCH = 0  # tests set it near 2**32; from 2**45 on a wait would take the zeros of an empty slot for a later epoch

BYTE = TABLE["uint8"]
T = TypeVar("T")


class Workspace(NamedTuple):
    """Addresses in one symmetric allocation.  Calls that use the same workspace must run one after another.

    inbox:      messages from peers, at the start of the allocation;  outbox: messages that this PE is about to send
    signals:    int64 words that peers set to epochs;  epochs: int64 words in which this PE counts
    peer_table: int64 words of this PE that name senders and receivers
    nbytes:     bytes of the whole allocation
    """

    inbox: int
    outbox: int
    signals: int
    epochs: int
    peer_table: int
    nbytes: int

    def work(self, buffer_bytes: int, tag: int) -> Work:
        """The record that a kernel takes."""
        return Work(*self[:5], buffer_bytes, tag)


def make_workspace(
    backend: Backend,
    job: Job,
    inbox_bytes: int,
    outbox_bytes: int,
    signal_words: int,
    epoch_words: int,
    peer_table: Sequence[int] = (),
) -> Workspace:
    """Allocate a workspace on every PE, clear it, and set signals and epochs to FIRST_EPOCH.

    Collective.  Waits for no stream.  Raises SymmetricHeapExhausted.
    """
    sizes = (inbox_bytes, outbox_bytes, 8 * signal_words, 8 * epoch_words, 8 * len(peer_table))
    starts = np.cumsum([0, *map(aligned, sizes)])
    nbytes = int(starts[-1])
    heap = backend.heap
    base = heap.allocate(nbytes)
    inbox, outbox, signals, epochs, peer_table_address, _ = (base + int(start) for start in starts)
    try:
        heap.fill(heap.view(base, (nbytes,), BYTE), 0)  # a receiver could take old bytes for a packet's epoch
        heap.copy_in(signals, np.full(signal_words, FIRST_EPOCH, np.int64))
        heap.copy_in(epochs, np.full(epoch_words, FIRST_EPOCH, np.int64))
        heap.copy_in(peer_table_address, np.array(peer_table, np.int64))
        job.rendezvous("set-up of a workspace")  # no peer may write before the memory is cleared
    except BaseException:
        heap.release(base)
        raise
    return Workspace(inbox, outbox, signals, epochs, peer_table_address, nbytes)


class Workspaces:
    """The workspaces of a team: one for each algorithm that ran, and one for each plan that needs its own."""

    def __init__(self, backend: Backend, job: Job, topology: Topology):
        self._backend, self._job, self._topology = backend, job, topology
        self._shared: dict[tuple[str, str], Workspace] = {}
        self._own: dict[int, Workspace] = {}  # {number of the plan, the same on every PE: its workspace}
        self._dead: set[int] = set()
        self._plans = 0

    def shared(self, collective: str, chosen: Algorithm) -> Workspace:
        """The workspace of all calls of an algorithm, which run one after another.  The first call is collective."""
        key = collective, chosen.name
        if key not in self._shared:
            self._shared[key] = self.with_room(lambda: self._make(chosen))
        return self._shared[key]

    def kept_for_plan(self, make: Callable[[], Workspace]) -> tuple[Workspace, Callable[[], None]]:
        """The workspace that ``make`` returns, and a function to call when its plan has died.  Collective."""
        self._release_dead()
        self._plans += 1
        number = self._plans
        self._own[number] = self.with_room(make)
        return self._own[number], lambda: self._dead.add(number)

    def with_room(self, allocate: Callable[[], T]) -> T:
        """``allocate()``; without room, free the workspaces of dead plans and try again.  Collective."""
        try:
            return allocate()
        except SymmetricHeapExhausted:
            gc.collect()  # ends plans in cycles of references
            if not self._release_dead():
                raise
            return allocate()

    def _make(self, chosen: Algorithm) -> Workspace:
        backend, topology = self._backend, self._topology
        limits = Limits(backend.max_blocks, backend.buffer_bytes)
        nbytes = limits.max_blocks * 2 * limits.buffer_bytes
        outbox_bytes = nbytes if chosen.outbox or backend.peers.needs_scratch else 0
        signal_words = limits.max_blocks * chosen.signal_words(topology, limits)
        peer_table = chosen.peer_table(topology, self._job.me) if chosen.peer_table else ()
        return make_workspace(backend, self._job, nbytes, outbox_bytes, signal_words, limits.max_blocks, peer_table)

    def _release_dead(self) -> bool:
        """Free the workspaces of plans that have died on every PE.  Returns True if it has freed one.  Collective.

        The PEs drop a plan at different times.  As this waits for the device, only new plans and a full heap call it.
        """
        if not self._own:
            return False
        dead = frozenset.intersection(*self._job.gather(frozenset(self._dead), "set-up of a workspace"))
        if dead:
            self._backend.streams.synchronize(None)  # wait for the last calls of the plans
            self._job.rendezvous("set-up of a workspace")
        for number in sorted(dead):
            self._backend.heap.release(self._own.pop(number).inbox)
        self._dead -= dead
        return bool(dead)

    @property
    def count(self) -> int:
        """Number of workspaces."""
        return len(self._shared) + len(self._own)

    @property
    def held_bytes(self) -> int:
        """Bytes of this PE's symmetric heap that the workspaces take."""
        return sum(workspace.nbytes for workspace in (*self._shared.values(), *self._own.values()))
