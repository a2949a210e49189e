"""Receives of messages, which may come as envelopes (messages.py).

**A process announces that it takes envelopes at its first receive into memory of a GPU, unless a receive is under way
that can't take one.  From then on all its receives through Comm take envelopes, also those into memory of the host.**
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI

from ..errors import PeerGaveUp
from .allocations import address_of, show_reach
from .flat import BYTES, Flat
from .gpu import begin_copy, mark, memory_of
from .message import message_of
from .page import FAILED, MOST_BYTES, RECEIVES, SENT, SIZE, STATE, TAKEN, own_page, slot_of
from .transfer import NOTHING, Overdue, Result, Steps, Transfer

LARGE_BYTES, MOST_SPARE = 1 << 18, 32  # least size of a landing that is kept; number of landings of a size that are kept
takes_envelopes = False  # True once this process has announced it
_unaware: list[MPI.Request] = []  # receives that can't take envelopes


def noted(plain: Callable[..., MPI.Request]) -> Callable[..., MPI.Request]:
    """A method of MPI that begins a receive, and notes it, since it can't take an envelope."""

    def method(*args: Any) -> MPI.Request:
        request = plain(*args)
        if len(_unaware) > 63:
            _unaware[:] = filter(None, _unaware)
        _unaware.append(request)
        return request

    return method


def _take_envelopes() -> None:
    global takes_envelopes
    if not takes_envelopes and not any(_unaware):
        show_reach()
        own_page().words[RECEIVES] = takes_envelopes = True


class Truncated(MPI.Exception):  # type: ignore[misc]
    """MPI.ERR_TRUNCATE, with ranks and sizes."""

    _text: str

    def __new__(cls, text: str) -> Truncated:
        error: Truncated = super().__new__(cls, MPI.ERR_TRUNCATE)
        error._text = text
        return error

    def __init__(self, text: str):
        super().__init__(MPI.ERR_TRUNCATE)

    def __str__(self) -> str:
        return f"{super().__str__()}: {self._text}"


_spare = defaultdict[int, list[Any]](list)  # {number of bits of a size: landings of which envelopes have touched a page}


class Target:
    """The memory that a receive writes.

    landing: memory of the host that MPI writes: the target itself, or a buffer, of which an envelope needs few pages
    """

    def __init__(self, spec: Any):
        self._ready, self._flat, self._memory = None, Flat(False), memory_of(spec)
        self._room: Any = None
        self._array: Any = None
        if self._memory:
            _take_envelopes()
            self._ready, self.n_bytes = mark(), self._memory.n_bytes
        else:
            message = message_of(spec)
            self._array = self._flat.result(message) if message.element.is_dense else self._flat.updated(message)
            self.n_bytes = message.n_bytes
        self._is_own = self._array is not None and self.n_bytes > MOST_BYTES
        self.landing: Any = self._array if self._is_own else self._taken(max(self.n_bytes, MOST_BYTES))

    def _taken(self, n_bytes: int) -> Any:
        """A landing.  A large one costs 20 us, and is kept for later messages when an envelope has come."""
        if n_bytes < LARGE_BYTES:
            return np.empty(n_bytes, BYTES)
        n_bits = n_bytes.bit_length()
        try:
            self._room = _spare[n_bits].pop()
        except IndexError:
            self._room = np.empty(1 << n_bits, BYTES)
        return self._room[:n_bytes]

    def give_back(self) -> None:
        """Keep the landing for later messages."""
        if self._room is not None and len(rooms := _spare[self.n_bytes.bit_length()]) < MOST_SPARE:
            rooms.append(self._room)

    def fill(self, n_bytes: int, source: int) -> Steps:
        """Copy the message to the target.  source: address of the sender's memory; 0: the message is in ``landing``"""
        if self._array is None or source:
            to = self._memory or MPI.Get_address(self._array)
            end = begin_copy(to, source or MPI.Get_address(self.landing), n_bytes, self._ready)
            while end is not None and not end.done:
                yield
        elif not self._is_own:
            self._array[:n_bytes] = self.landing[:n_bytes]
        self._flat.put_back()
        return NOTHING


def begin_receive(comm: Any, begin: Callable[..., MPI.Request], spec: Any, source: int, tag: int) -> Transfer:
    """A receive.  begin: takes (comm, spec, source, tag).  Raises LeftToMPI."""
    target = Target(spec)
    request = begin(comm, [target.landing, MPI.BYTE], source, tag)
    agreement, me, size = comm._agree(), comm.rank, comm.size  # the program may free comm meanwhile

    def overdue() -> Overdue:
        call = f"a receive of at most {target.n_bytes} bytes with tag {tag}"
        awaited = agreement.pages_of_others(me, size) if source == MPI.ANY_SOURCE else {}
        return Overdue(me, awaited or {source: agreement.page(source)}, call)

    return Transfer(_steps_of_receive(agreement, me, request, target, spec), overdue, request)


def _steps_of_receive(agreement: Any, me: int, request: MPI.Request, target: Target, buffer: Any) -> Steps:
    """buffer: object that must live until the message has come"""
    status = MPI.Status()
    try:
        while not request.Test(status):
            yield
    except MPI.Exception as error:
        if error.Get_error_class() == MPI.ERR_TRUNCATE:
            raise Truncated(f"rank {me} receives at most {target.n_bytes} bytes, and more came") from None
        raise
    if status.Is_cancelled() or status.source == MPI.PROC_NULL:
        return Result(status.source, status.tag, 0, status.Is_cancelled())
    page, n_bytes = agreement.page(status.source), status.Get_count(MPI.BYTE)
    slot = slot_of(target.landing, n_bytes, page)
    result = Result(status.source, status.tag, n_bytes if slot is None else slot[SIZE])
    answer = FAILED
    try:
        if result.n_bytes > target.n_bytes:
            answer = TAKEN
            raise Truncated(
                f"rank {result.source} sent {result.n_bytes} bytes with tag {result.tag}, and rank {me} receives "
                f"at most {target.n_bytes}"
            )
        if result.n_bytes:
            address = 0 if slot is None else address_of(slot, page)
            yield from target.fill(result.n_bytes, address)
        if slot is not None:
            if slot[STATE] != SENT:
                raise PeerGaveUp(me, result.source, f"a receive of {result.n_bytes} bytes with tag {result.tag}")
            target.give_back()
        answer = TAKEN
    finally:
        if slot is not None:
            slot[STATE] = answer
    return result
