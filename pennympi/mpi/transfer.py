"""Calls that are under way: their steps, and the looks by which they progress.

A caller that waits makes the looks itself.  A thread makes them once the program has made none for a millisecond: it
computes, or waits in MPI.  The thread sleeps while no call is under way.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from inspect import GEN_CLOSED, getgeneratorstate
from threading import Event, Lock, Thread
from typing import Any, NamedTuple

from mpi4py import MPI

from ..errors import PeerTimeout
from ..once import once
from ..polling import poll_times
from ..settings import setting
from .page import SINCE, Page, own_page

MOST_NAP_S, LINGER_S = 1e-3, 0.1  # longest nap of the thread; time without a call until it sleeps
N_SPARED = 64  # looks at a call before its deadline is asked for; a blocking call makes them at once
LOOK_NS = 250_000_000  # time between two looks at a rank's signs of life


class Result(NamedTuple):
    """The contents of a status."""

    source: int = MPI.ANY_SOURCE
    tag: int = MPI.ANY_TAG
    n_bytes: int = 0
    cancelled: bool = False

    def fill(self, status: MPI.Status) -> None:
        """Write the result into a status of MPI."""
        status.source, status.tag, status.cancelled, status.error = self.source, self.tag, self.cancelled, MPI.SUCCESS
        status.Set_elements(MPI.BYTE, self.n_bytes)


NOTHING = Result()
_PLAIN, _WORLD = MPI.Intracomm, MPI.COMM_WORLD
Steps = Generator[None, None, Result]


def until(test: Callable[[], Any], result: Callable[[], Result], keep: Any = None) -> Steps:
    """The steps of a wait for ``test``.  keep: objects that must live until the end"""
    while not test():
        yield
    return result()


class Overdue:
    """Returns PeerTimeout once no awaited rank has shown a sign of life for PENNYMPI_TIMEOUT_S: each has ended, or waits.

    me:    rank of this process
    pages: {rank: page} of the awaited ranks; without the page of one of them the wait has no deadline
    call:  name of the call
    """

    def __init__(self, me: int, pages: Mapping[int, Page | None], call: str):
        self._me, self._pages, self._call = me, pages, call
        self._since_ns = self._looked_ns = time.monotonic_ns()

    def __call__(self) -> Exception | None:
        now_ns = time.monotonic_ns()
        pause_ns = now_ns - self._looked_ns
        if pause_ns < LOOK_NS:
            return None
        self._looked_ns = now_ns
        timeout_s = setting("PENNYMPI_TIMEOUT_S")
        if None in self._pages.values() or not timeout_s or pause_ns > 8 * LOOK_NS:  # this process was suspended
            self._since_ns = now_ns
            return None
        signs_ns = {rank: page.silent_since_ns(self._since_ns) for rank, page in self._pages.items() if page}
        self._since_ns = max(self._since_ns, *signs_ns.values())
        if _for_transfers:
            own_page().words[SINCE] = max(own_page().words[SINCE], self._since_ns)
        if now_ns - self._since_ns < 1e9 * timeout_s:
            return None
        return PeerTimeout(self._me, min(signs_ns, key=signs_ns.__getitem__), self._call, timeout_s=timeout_s)


class Transfer:
    """A call that is under way.

    steps:      generator that yields while the call waits, and returns the Result
    overdue:    function that makes the Overdue of the call; None: it has no deadline
    can_cancel: request of MPI that ``cancel`` cancels, or None
    """

    result = NOTHING
    error: Exception | None = None
    is_complete = is_raised = False
    on_complete: Callable[[], None] | None = None
    _overdue: Overdue | None = None
    _n_looks = 0

    def __init__(self, steps: Steps, overdue: Callable[[], Overdue] | None = None, can_cancel: MPI.Request | None = None):
        self._steps, self._make_overdue, self._can_cancel = steps, overdue, can_cancel

    def look(self) -> bool:
        """Continue the call as far as it goes.  Returns whether it is complete."""
        if self.is_complete:
            return True
        try:
            next(self._steps)
            self._n_looks += 1
            if self._n_looks <= N_SPARED or self._make_overdue is None:
                return False
            if self._overdue is None:
                self._overdue = self._make_overdue()
            self.error = self._overdue()
            if self.error is None:
                return False
            self._steps.close()
            self.cancel()
        except StopIteration as end:
            self.result = end.value
        except Exception as error:
            self.error = error
        except BaseException:
            if getgeneratorstate(self._steps) == GEN_CLOSED:  # an interrupt inside the steps ends them
                self.error = RuntimeError("the call was interrupted, and its message may be lost")
                self.cancel()
                _interrupted.append(self)
                self._complete()
            raise
        return self._complete()

    def _complete(self) -> bool:
        self.is_complete = True
        if self.on_complete:
            self.on_complete()
        return True

    def start(self, n_looks: int = 1) -> None:
        """Look for the first time or times; if the call is not complete then, all later looks include it."""
        with _looking:
            _under_way.append(self)
            for _ in range(n_looks):
                if self.look():
                    _under_way.remove(self)
                    break

    def run(self) -> Result:
        """Start, and wait.  Raises the call's error."""
        self.start(1 if _under_way else N_SPARED)
        return self.wait()

    def cancel(self) -> None:
        """Ask MPI to cancel the call."""
        if self._can_cancel:
            self._can_cancel.Cancel()

    def finish(self) -> None:
        """Look until the call is complete."""
        if not self.is_complete:
            for _ in looks():
                if self.is_complete:
                    break

    def wait(self) -> Result:
        """The result, once the call is complete.  Raises its error."""
        self.finish()
        self.is_raised = True
        if self.error is not None:
            raise self.error
        return self.result


_under_way: list[Transfer] = []
_interrupted: list[Transfer] = []  # whose memory MPI may still write
_looking, _begun = Lock(), Event()
_waiting = _for_transfers = 0  # threads of this process in ``looks``, and those of them that wait for transfers alone
_looked_s = 0.0  # time of the program's last look
_PR_SET_TIMERSLACK = 29


def leave(transfer: Transfer) -> None:
    """Look at a call that no thread waits for, until it is complete: its peer may wait."""
    _under_way.append(transfer)
    wake_thread()


def any_under_way() -> bool:
    """Whether a call of this process is under way."""
    return bool(_under_way)


def look_at_all() -> None:
    """Look at the calls, a thread at a time, in the order in which they began."""
    if _looking.acquire(timeout=MOST_NAP_S):  # meanwhile the holder runs
        try:
            _PLAIN.Iprobe(_WORLD)  # MPI's progress: a call under way may wait for something else than MPI
            for transfer in tuple(_under_way):
                if transfer.look():
                    _under_way.remove(transfer)
        finally:
            _looking.release()


def looks(for_transfers: bool = True) -> Iterator[None]:
    """Look at all calls, for ever: the loop of a wait, which its caller leaves.

    for_transfers: True: the caller waits for nothing else, so that this process's page may say for whom it waits
    """
    global _waiting, _for_transfers
    _waiting += 1
    _for_transfers += for_transfers
    try:
        for _ in poll_times():
            look_at_all()
            yield
    finally:
        _waiting -= 1
        _for_transfers -= for_transfers
        note_program()
        if not _for_transfers:
            own_page().words[SINCE] = 0


def note_program() -> None:
    """Note that the program itself looks now, or begins a call."""
    global _looked_s
    _looked_s = time.monotonic()


@once
def _start_thread() -> None:
    Thread(target=_look_for_others, daemon=True, name="pennympi messages").start()


def wake_thread() -> None:
    """See that the thread looks where the program does not."""
    note_program()
    if not _begun.is_set():
        _begun.set()
        _start_thread()


def _look_for_others() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)  # else the shortest nap takes 80 us
    os.sched_setaffinity(0, range(os.cpu_count() or 1))  # this thread only: MPI spins on the core that mpirun binds
    while True:
        _begun.wait()
        _begun.clear()
        quiet_s = 0.0
        while (_under_way or quiet_s < LINGER_S) and not MPI.Is_finalized():
            is_quiet = quiet_s > MOST_NAP_S and not _waiting
            if is_quiet:
                look_at_all()
            time.sleep(min(quiet_s / 64, MOST_NAP_S) if is_quiet else MOST_NAP_S)
            quiet_s = time.monotonic() - _looked_s
