"""A receive of a message that may be an envelope, into an array that may lie on a GPU.

**A process says that it takes envelopes when it first receives into memory of a GPU, once no receive of its own that
knows of none is under way.  From then on all its receives through Comm know of them, into memory of the host, too.**
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI

from . import gpu_copies, gpu_memory
from .agreement import agreement_of
from .deadline import Overdue
from .envelope import MOST_BYTES, opened
from .flat import BYTES, Flat
from .mailbox import FAILED, RECEIVES, STATE, TAKEN, own_page
from .message import message_of
from .sending import Begin
from .transfer import Result, Steps, Transfer

takes_envelopes = False  # whether this process has said that it takes them
_unaware: list[MPI.Request] = []  # receives that know of none


def noted(plain: Callable[..., MPI.Request]) -> Callable[..., MPI.Request]:
    """A method of MPI's that begins a receive, which knows of no envelopes."""

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
        gpu_memory.show_reach()
        own_page().words[RECEIVES] = takes_envelopes = True


class Truncated(MPI.Exception):  # type: ignore[misc]
    """MPI.ERR_TRUNCATE, with ranks and sizes."""

    _text: str

    def __new__(cls, text: str) -> Truncated:
        made: Truncated = super().__new__(cls, MPI.ERR_TRUNCATE)
        made._text = text
        return made

    def __init__(self, text: str):
        super().__init__(MPI.ERR_TRUNCATE)

    def __str__(self) -> str:
        return f"{super().__str__()}: {self._text}"


class Target:
    """What a receive writes.

    landing: memory of the host for what MPI brings: the target's own, or other memory, whose pages are taken when written
    """

    def __init__(self, spec: Any):
        self._after, self._flat = None, Flat(False)
        self._memory = memory = gpu_copies.memory_of(spec)
        if memory:
            _take_envelopes()
            self._buffer, self._after, self.n_bytes = spec, gpu_copies.mark(), memory.n_bytes
        else:
            message = message_of(spec)
            array = self._flat.result(message) if message.element.is_dense else self._flat.both(message)
            self._buffer, self.n_bytes = array, array.nbytes
        self._is_own = memory is None and self.n_bytes > MOST_BYTES
        self.landing = self._buffer if self._is_own else np.empty(max(self.n_bytes, MOST_BYTES), BYTES)

    def fill(self, n_bytes: int, source: int) -> Steps:
        """Copy the message from an address; 0: it has landed."""
        if self._memory or source:
            to = self._memory.address if self._memory else self._buffer.ctypes.data
            device = self._memory.device if self._memory else gpu_copies.current_device()
            has_ended = gpu_copies.begin_copy(device, to, source or self.landing.ctypes.data, n_bytes, self._after)
            while not has_ended():
                yield
        elif not self._is_own:
            self._buffer[:n_bytes] = self.landing[:n_bytes]
        self._flat.put_back()
        return Result()


def begin_receive(comm: Any, begin: Begin, spec: Any, source: int = MPI.ANY_SOURCE, tag: int = MPI.ANY_TAG) -> Transfer:
    """Begin a receive.  begin: takes (comm, spec, source, tag).  Raises LeftToMPI."""
    target = Target(spec)
    request = begin(comm, [target.landing, MPI.BYTE], source, tag)
    what = f"a receive of at most {target.n_bytes} bytes with tag {tag}"
    overdue = Overdue(comm, source, agreement_of(comm).page(source), what)
    return Transfer(_receiving(comm, request, target), overdue, request)


def _receiving(comm: Any, request: MPI.Request, target: Target) -> Steps:
    status = MPI.Status()
    try:
        while not request.Test(status):
            yield
    except MPI.Exception as error:
        if error.Get_error_class() == MPI.ERR_TRUNCATE:
            raise Truncated(f"rank {comm.rank} receives at most {target.n_bytes} bytes, and more came") from None
        raise
    if status.Is_cancelled() or status.source == MPI.PROC_NULL:
        return Result(status.source, status.tag, 0, status.Is_cancelled())
    page, n_bytes = agreement_of(comm).page(status.source), status.Get_count(MPI.BYTE)
    envelope = opened(target.landing[:n_bytes], page)
    found = Result(status.source, status.tag, envelope.n_bytes if envelope else n_bytes)
    answer = FAILED
    try:
        if found.n_bytes > target.n_bytes:
            answer = TAKEN
            raise Truncated(
                f"rank {found.source} sent {found.n_bytes} bytes with tag {found.tag}, and rank {comm.rank} receives at "
                f"most {target.n_bytes}"
            )
        if found.n_bytes:
            yield from target.fill(found.n_bytes, gpu_memory.here(envelope.location, page) if envelope and page else 0)
        answer = TAKEN
    finally:
        if envelope and page:
            page.slot(envelope.slot)[STATE] = answer
    return found
