"""Calls that are under way: their steps, the looks by which they progress, and their requests.

A caller that waits for a request of this file makes the looks itself.  A thread makes them during MPI.Request.Waitall,
and while the program does something else and a peer waits for its answer.  It sleeps while no call is under way.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from functools import partial
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, NamedTuple

from mpi4py import MPI

from ..errors import PeerTimeout, Unsupported
from ..once import once
from ..polling import poll_times
from ..settings import setting
from .page import SINCE, Page, own_page

NAP_S, MOST_NAP_S = 5e-6, 1e-3  # naps of the thread, in which the program continues
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


Steps = Generator[None, None, Result]


def until(test: Callable[[], Any], result: Callable[[], Result], keep: Any = None) -> Steps:
    """The steps of a wait for ``test``.  keep: objects that must live until the end"""
    while not test():
        yield
    return result()


class Overdue:
    """Returns PeerTimeout once no awaited rank has shown a sign of life for PENNYMPI_TIMEOUT_S: each has ended, or waits.

    pages: {rank: page} of the awaited ranks; without the page of one of them the wait has no deadline
    call:  name of the call
    """

    def __init__(self, comm: Any, pages: Mapping[int, Page | None], call: str):
        self._me, self._pages, self._call = comm.rank, pages, call
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
        if _waiting:
            own_page().words[SINCE] = self._since_ns
        if now_ns - self._since_ns < 1e9 * timeout_s:
            return None
        return PeerTimeout(self._me, min(signs_ns, key=signs_ns.__getitem__), self._call, timeout_s=timeout_s)


class Transfer:
    """A call that is under way.

    steps:      generator that yields while the call waits, and returns the Result
    overdue:    function that returns the error of a wait after its deadline, else None
    can_cancel: request of MPI that ``cancel`` cancels
    """

    def __init__(
        self,
        steps: Steps,
        overdue: Callable[[], Exception | None] = lambda: None,
        can_cancel: MPI.Request = MPI.REQUEST_NULL,
    ):
        self._steps, self._overdue, self._can_cancel = steps, overdue, can_cancel
        self.result = Result()
        self.error: Exception | None = None
        self.is_complete = self.is_raised = False
        self.on_complete: Callable[[], None] = lambda: None
        _under_way.append(self)
        _begun.set()

    def look(self) -> None:
        """Continue the call as far as it goes."""
        try:
            next(self._steps)
            self.error = self._overdue()
            if self.error is None:
                return
            self._steps.close()
            self.cancel()
        except StopIteration as end:
            self.result = end.value
        except Exception as error:
            self.error = error
        _under_way.remove(self)
        self.is_complete = True
        self.on_complete()

    def cancel(self) -> None:
        """Ask MPI to cancel the call."""
        if self._can_cancel:
            self._can_cancel.Cancel()

    def wait(self) -> Result:
        """Look until the call is complete.  Raises its error."""
        global _waiting
        _waiting += 1
        try:
            for _ in poll_times():
                if self.is_complete:
                    break
                look_at_all()
        finally:
            _waiting -= 1
            if not _waiting:
                own_page().words[SINCE] = 0
        self.is_raised = True
        if self.error is not None:
            raise self.error
        return self.result


_under_way: list[Transfer] = []
_looking, _begun = Lock(), Event()
_waiting = 0  # threads of this process in ``Transfer.wait``
_PR_SET_TIMERSLACK = 29


def look_at_all() -> None:
    """Look at the calls, a thread at a time, in the order in which they began."""
    if _looking.acquire(timeout=MOST_NAP_S):  # meanwhile the holder runs
        try:
            for transfer in tuple(_under_way):
                transfer.look()
        finally:
            _looking.release()


@once
def _start_thread() -> None:
    Thread(target=_look_for_others, daemon=True, name="pennympi messages").start()


def _look_for_others() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)  # else the shortest nap takes 80 us
    os.sched_setaffinity(0, range(os.cpu_count() or 1))  # this thread only: MPI spins on the core that mpirun binds
    while True:
        _begun.wait()
        _begun.clear()
        start_s = time.monotonic()
        while _under_way and not MPI.Is_finalized():
            time.sleep(max(NAP_S, min((time.monotonic() - start_s) / 64, MOST_NAP_S)))
            if not _waiting:
                look_at_all()


class _Looking(MPI.Request if TYPE_CHECKING else object):  # type: ignore[misc]
    """A request that waits for a transfer by looking at it."""

    _transfer: Transfer | None = None

    def Wait(self, status: MPI.Status | None = None) -> Any:
        transfer, self._transfer = self._transfer, None
        if transfer is None:
            return super().Wait(status)
        try:
            transfer.wait()
        finally:
            complete = super().Wait(status)
        return complete

    def Test(self, status: MPI.Status | None = None) -> bool:
        if self._transfer and not self._transfer.is_complete:
            look_at_all()
        if self._transfer and self._transfer.error is not None:
            return bool(self.Wait(status))
        return super().Test(status)

    def wait(self, status: MPI.Status | None = None) -> Any:
        """None, as mpi4py returns it for a message that is not pickled."""
        self.Wait(status)

    def test(self, status: MPI.Status | None = None) -> tuple[bool, None]:
        """Whether the request is complete, and None."""
        return self.Test(status), None


class Request(_Looking, MPI.Request):
    """The request of a transfer, for which all waits of MPI work.  begin: function that begins the transfer"""

    def __new__(cls, begin: Callable[[], Transfer]) -> Request:
        if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
            raise Unsupported(
                "a non-blocking call of an array on a GPU needs MPI_THREAD_MULTIPLE, as mpi4py starts MPI by default: "
                "leave mpi4py.rc as it is, or call the blocking method"
            )
        _start_thread()
        transfer = begin()

        def query(status: MPI.Status) -> None:
            if transfer.error is None or transfer.is_raised:
                return transfer.result.fill(status)
            raise transfer.error if isinstance(transfer.error, MPI.Exception) else MPI.Exception(MPI.ERR_OTHER)

        begun = MPI.Grequest.Start(query, lambda: None, lambda is_complete: None if is_complete else transfer.cancel())
        held = MPI.Grequest(begun)  # MPI clears the handle of ``begun`` when the user has waited
        with _looking:
            transfer.on_complete = held.Complete
            if transfer.is_complete:
                held.Complete()
        request: Request = super().__new__(cls, begun)
        request._transfer = transfer
        return request


class Standing(type):
    """The type of a class that replaces its base: objects of the base count as its instances."""

    def __init__(cls, name: str, bases: tuple[Any, ...], namespace: dict[str, Any]):
        super().__init__(name, bases, namespace)
        for name in ("fromhandle", "fromint", "f2py"):
            setattr(cls, name, partial(cls._wrapped, getattr(bases[-1], name)))

    def _wrapped(cls, from_handle: Callable[[Any], Any], handle: Any) -> Any:
        return cls(from_handle(handle))

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, cls.__bases__[-1])


class Prequest(MPI.Prequest, metaclass=Standing):
    """mpi4py's class, whose ``Startall`` starts the calls of ``Persistent``, too."""

    @classmethod
    def Startall(cls, requests: Iterable[MPI.Prequest]) -> None:
        for request in requests:
            request.Start()


class Persistent(_Looking, Prequest):
    """A persistent call: each Start begins one.

    Its handle is that of the call under way.  Between calls the handle is null, and MPI's waits ignore it; so mpi4py's
    Startall, which hands MPI the handles, raises MPI.Exception.
    """

    _start: Callable[[], MPI.Request] | None

    def __new__(cls, start: Callable[[], MPI.Request]) -> Persistent:
        request: Persistent = super().__new__(cls)
        request._start = start
        return request

    def Start(self) -> None:
        assert self._start is not None, "the request has been freed"
        begun = self._start()
        self._transfer = getattr(begun, "_transfer", None)
        ctypes.memmove(MPI._addressof(self), MPI._addressof(begun), MPI._sizeof(begun))  # for Waitall

    def Free(self) -> None:
        self._start = None
        if super().__bool__():
            super().Free()

    def __bool__(self) -> bool:
        return self._start is not None

    def __eq__(self, request: object) -> bool:
        return self is request if self else super().__eq__(request)

    def __ne__(self, request: object) -> bool:
        return not self == request
