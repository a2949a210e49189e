"""Workspaces of collectives: where peers write, and what counts the rounds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..backend import Backend
from ..errors import SymmetricHeapExhausted
from ..job.job import Job
from ..kernels.algorithm import Algorithm, Place
from ..settings import setting
from .freelist import aligned


@dataclass(frozen=True)
class Workspace:
    """Addresses in one symmetric allocation.  Calls that share a lane must run one after another.

    inbox:   bytes that peers write, the start of the allocation;  outbox: bytes that only this PE writes
    signals: words, set by peers to epochs;  epochs: words of this PE
    ways:    words of this PE that say which PE sends to which
    """

    inbox: int
    outbox: int
    signals: int
    epochs: int
    routes: int
    nbytes: int


def make_workspace(
    backend: Backend,
    job: Job,
    inbox_bytes: int,
    outbox_bytes: int,
    signal_words: int,
    epoch_words: int,
    routes: Sequence[int] = (),
) -> Workspace:
    """Allocate a lane on every PE, cleared; signals start where epochs do.  Collective; waits for no stream."""
    first = setting("PENNYMPI_FIRST_EPOCH")
    sizes = (inbox_bytes, outbox_bytes, 8 * signal_words, 8 * epoch_words, 8 * len(routes))
    starts = np.cumsum([0, *map(aligned, sizes)])
    nbytes = int(starts[-1])
    base = backend.allocate(nbytes)
    inbox, outbox, signals, epochs, beyond, _ = (base + int(start) for start in starts)
    backend.zero(base, nbytes)  # what was in this memory could look like a packet's epoch
    backend.copy_in(signals, np.full(signal_words, first, np.int64))
    backend.copy_in(epochs, np.full(epoch_words, first, np.int64))
    backend.copy_in(beyond, np.array(routes, np.int64))
    job.rendezvous("set-up of a lane")  # no peer may write before this is cleared
    return Workspace(inbox, outbox, signals, epochs, beyond, nbytes)


class Workspaces:
    """The lanes of one team: one for each algorithm that ran, and one for each plan that bounds its multiprocessors."""

    def __init__(self, backend: Backend, job: Job, place: Place):
        self._backend, self._job, self._place = backend, job, place
        self._shared: dict[tuple[str, str], Workspace] = {}
        self._own: dict[int, Workspace] = {}  # by the number of the plan, which is the same on every PE
        self._dead: set[int] = set()
        self._plans = 0

    def shared(self, collective: str, row: Algorithm) -> Workspace:
        """The lane of all calls of an algorithm, eager, planned and captured: they run one after another."""
        key = collective, row.name
        if key not in self._shared:
            try:
                self._shared[key] = self._make(row, self._backend.max_blocks)
            except SymmetricHeapExhausted:
                if not self._give_back():
                    raise
                self._shared[key] = self._make(row, self._backend.max_blocks)
        return self._shared[key]

    def own(self, row: Algorithm, blocks: int) -> tuple[Workspace, Callable[[], None]]:
        """A lane for one plan of so many blocks, and what to call when nobody can call the plan any more."""
        self._give_back()
        self._plans += 1
        number = self._plans
        self._own[number] = self._make(row, blocks)
        return self._own[number], lambda: self._dead.add(number)

    def _make(self, row: Algorithm, blocks: int) -> Workspace:
        nbytes = blocks * 2 * self._backend.buffer_bytes
        outbox_bytes = nbytes if row.outbox or self._backend.needs_scratch else 0
        routes = row.routes(self._place, self._job.me) if row.routes else ()
        return make_workspace(
            self._backend, self._job, nbytes, outbox_bytes, blocks * row.signals(self._place), blocks, routes
        )

    def _give_back(self) -> bool:
        """Release the lanes of plans that are gone on every PE, if there are any: each forgets them at a time of its own.

        Waits for the device, so that a first call does it only where nothing else gives room.
        """
        if not self._own:
            return False
        dead = frozenset.intersection(*self._job.gather(frozenset(self._dead), "set-up of a lane"))
        if dead:
            self._backend.synchronize(None)  # their last calls
            self._job.rendezvous("set-up of a lane")
        for number in sorted(dead):
            self._backend.release(self._own.pop(number).inbox)
        self._dead -= dead
        return bool(dead)

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._shared) + len(self._own)

    @property
    def held_bytes(self) -> int:
        """What the lanes hold of this PE's symmetric heap."""
        return sum(workspace.nbytes for workspace in (*self._shared.values(), *self._own.values()))
