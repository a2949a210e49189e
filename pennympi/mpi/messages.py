"""Messages from rank to rank, of arrays that may lie on GPUs.

MPI carries the message itself, or in its place an envelope of the same tag, which MPI matches in the same order.  The
receiver of an envelope copies from the sender's memory, and writes its answer into a slot of the sender's page (page.py).
MPI carries the message itself if it is small, if other processes can't reach its memory, or if its receiver has not
announced that it takes envelopes.

**A process announces this at its first receive into memory of a GPU at which no receive that can't take envelopes is
under way.  From then on all its receives through Comm take envelopes, also those into memory of the host.**
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from mmap import mmap
from typing import Any

import numpy as np
from mpi4py import MPI

from ..errors import Unsupported
from ..units import size_text
from . import page as pages
from .flat import BYTES, Flat
from .gpu import (
    address_of,
    begin_copy,
    copied_to_host,
    current_stream,
    locate,
    mark,
    memory_of,
    number_of_gpu,
    show_reach,
)
from .log import LOGS, log_way
from .message import is_on_gpu, message_of
from .page import FAILED, MOST_BYTES, RECEIVES, SENT, STATE, TAKEN, Envelope, opened, own_page, put_true_size
from .requests import Request
from .transfer import NOTHING, Overdue, Result, Steps, Transfer

_PLAIN, _PLAIN_MESSAGE = MPI.Intracomm, MPI.Message
Method = Callable[..., Any]


# Sends ---------------------------------------------------------------------------------
def _begin_send(begin: Callable[..., MPI.Request], comm: Any, spec: Any, dest: int, tag: int) -> Transfer:
    """A message.  begin: MPI's non-blocking call of the message's mode.  Raises LeftToMPI."""
    memory, page = memory_of(spec), comm._agree().page(dest)
    slot = location = None
    if memory and memory.n_bytes > MOST_BYTES and dest != MPI.PROC_NULL:
        location = locate(memory.address)
        if page is None or location is None:
            _warn_of_host(memory.n_bytes, page is None)
        elif page.takes_from(number_of_gpu(memory.device)):
            slot = pages.take_slot(memory.n_bytes, tag, page.card.process.pid)
    sent: Any = spec
    if memory and location and slot is not None:
        current_stream().synchronize()
        sent = [Envelope(memory.n_bytes, location, slot).packed(), MPI.BYTE]
    elif memory:
        sent = [copied_to_host(memory), MPI.BYTE]
    elif is_on_gpu(spec):
        sent = [Flat(False).source(message_of(spec)), MPI.BYTE]
    request = begin(comm, sent, dest, tag)
    what = lambda: f"a message of {message_of(spec).n_bytes} bytes to rank {dest} with tag {tag}"  # noqa: E731
    if LOGS:
        log_way(comm, what(), "MPI" if slot is None else "a copy from GPU to GPU")
    return Transfer(_steps_of_send(request, slot, (spec, sent)), lambda: Overdue(comm, {dest: page}, what()))


def _steps_of_send(request: MPI.Request, slot: int | None, buffers: Any) -> Steps:
    """buffers: objects that must live until the message has gone"""
    while not request.Test():
        yield
    if slot is None:
        return NOTHING
    words = own_page().slot(slot)
    while words[STATE] == SENT:
        yield
    failed = words[STATE] == FAILED
    pages.release_slot(slot)
    if failed:
        raise Unsupported("the receiver of a message can't open this process's memory on its GPU: see its own error")
    return NOTHING


def _warn_of_host(n_bytes: int, is_far: bool) -> None:
    reason = "its rank is on another node, or there was no collective of this communicator yet"
    if not is_far:
        reason = "other processes can't reach its memory: allocate it by cudaMalloc, as CuPy does, or team.empty"
    warnings.warn(f"a message of {size_text(n_bytes)} on a GPU goes through memory of the host: {reason}", stacklevel=6)


# Receives ------------------------------------------------------------------------------
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


def _landing(n_bytes: int) -> Any:
    """Memory for a message or an envelope.  NumPy takes much memory in pages of 2 MiB, and a first touch clears one."""
    return np.empty(n_bytes, BYTES) if n_bytes < 1 << 20 else np.frombuffer(mmap(-1, n_bytes), BYTES)


class _Target:
    """The memory that a receive writes.

    landing: memory of the host that MPI writes: the target itself, or a buffer, of which an envelope needs few pages
    """

    def __init__(self, spec: Any):
        self._ready, self._flat, self._memory = None, Flat(False), memory_of(spec)
        self._array: Any = None
        if self._memory:
            _take_envelopes()
            self._ready, self.n_bytes = mark(), self._memory.n_bytes
        else:
            message = message_of(spec)
            self._array = self._flat.result(message) if message.element.is_dense else self._flat.updated(message)
            self.n_bytes = message.n_bytes
        self._is_own = self._array is not None and self.n_bytes > MOST_BYTES
        self.landing: Any = self._array if self._is_own else _landing(max(self.n_bytes, MOST_BYTES))

    def fill(self, n_bytes: int, source: int) -> Steps:
        """Copy the message to the target.  source: address of the sender's memory; 0: the message is in ``landing``"""
        if self._array is None or source:
            to = self._memory or self._array.ctypes.data
            has_ended = begin_copy(to, source or self.landing.ctypes.data, n_bytes, self._ready)
            while not has_ended():
                yield
        elif not self._is_own:
            self._array[:n_bytes] = self.landing[:n_bytes]
        self._flat.put_back()
        return NOTHING


def _begin_receive(comm: Any, begin: Callable[..., MPI.Request], spec: Any, source: int, tag: int) -> Transfer:
    """A receive.  begin: takes (comm, spec, source, tag).  Raises LeftToMPI."""
    target = _Target(spec)
    request = begin(comm, [target.landing, MPI.BYTE], source, tag)

    def overdue() -> Overdue:
        agreement = comm._agree()
        awaited = agreement.pages_of_others(comm) if source == MPI.ANY_SOURCE else {}
        call = f"a receive of at most {target.n_bytes} bytes with tag {tag}"
        return Overdue(comm, awaited or {source: agreement.page(source)}, call)

    return Transfer(_steps_of_receive(comm, request, target, spec), overdue, request)


def _steps_of_receive(comm: Any, request: MPI.Request, target: _Target, buffer: Any) -> Steps:
    """buffer: object that must live until the message has come"""
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
    page, n_bytes = comm._agree().page(status.source), status.Get_count(MPI.BYTE)
    envelope = opened(target.landing[:n_bytes], page)
    result = Result(status.source, status.tag, envelope.n_bytes if envelope else n_bytes)
    answer = FAILED
    try:
        if result.n_bytes > target.n_bytes:
            answer = TAKEN
            raise Truncated(
                f"rank {result.source} sent {result.n_bytes} bytes with tag {result.tag}, and rank {comm.rank} receives "
                f"at most {target.n_bytes}"
            )
        if result.n_bytes:
            address = address_of(envelope.location, page) if envelope and page else 0
            yield from target.fill(result.n_bytes, address)
        answer = TAKEN
    finally:
        if envelope and page:
            page.slot(envelope.slot)[STATE] = answer
    return result


# The methods of mpi4py -----------------------------------------------------------------
def _begin_both(comm: Any, sendbuf: Any, dest: int, sendtag: int, recvbuf: Any, source: int, recvtag: int) -> Transfer:
    """A transfer of two messages."""
    receive = _begin_receive(comm, _PLAIN.Irecv, recvbuf, source, recvtag)
    try:
        send = _begin_send(_PLAIN.Isend, comm, sendbuf, dest, sendtag)
    except BaseException:
        receive.cancel()
        raise
    return Transfer(_steps_of_both(receive, send))


def _steps_of_both(receive: Transfer, send: Transfer) -> Steps:
    while not ((receive.is_complete or receive.look()) & (send.is_complete or send.look())):
        if send.error:
            receive.cancel()
            break
        yield
    for error in filter(None, (receive.error, send.error)):
        raise error
    return receive.result


def _begin_replacing(comm: Any, buf: Any, dest: int, sendtag: int, source: int, recvtag: int) -> Transfer:
    """A transfer of a copy of the buffer, while the buffer receives."""
    copy = Flat(memory_of(buf) is not None).source(message_of(buf)).copy()
    return _begin_both(comm, [copy, MPI.BYTE], dest, sendtag, buf, source, recvtag)


def _begin_recv(comm: Any, buf: Any, source: int, tag: int) -> Transfer:
    return _begin_receive(comm, _PLAIN.Irecv, buf, source, tag)


def _begin_probed(message: Any, buf: Any) -> Transfer:
    begin = lambda comm, spec, source, tag: _PLAIN_MESSAGE.Irecv(message, spec)  # noqa: E731
    return _begin_receive(message.comm, begin, buf, MPI.ANY_SOURCE, MPI.ANY_TAG)


def _blocking_send(begin: Callable[..., Transfer]) -> Method:
    def method(comm: Any, *args: Any) -> None:
        begin(comm, *args).start().wait()

    return method


def _blocking_receive(begin: Callable[..., Transfer]) -> Method:
    def method(comm: Any, *args: Any) -> None:
        result, status = begin(comm, *args[:-1]).start().wait(), args[-1]
        if status is not None:
            result.fill(status)

    return method


def _with_request(begin: Callable[..., Transfer]) -> Method:
    return lambda comm, *args: Request(lambda: begin(comm, *args))


def _bsend(plain: Method) -> Method:
    """MPI's method on a copy of the message in memory of the host, which MPI copies once more."""
    return lambda comm, buf, dest, tag: plain(comm, [Flat(False).source(message_of(buf)), MPI.BYTE], dest, tag)


def with_true_size(plain: Method) -> Method:
    """A probe whose status has the size of the message, also if an envelope has come in its place."""

    def probe(comm: Any, source: int = MPI.ANY_SOURCE, tag: int = MPI.ANY_TAG, status: MPI.Status | None = None) -> Any:
        status = MPI.Status() if status is None else status
        result = plain(comm, source, tag, status)
        if result is not False and result is not None:
            put_true_size(status, comm._agree().page(status.source))
        return result

    return probe


_SENDS: dict[str, Method] = {
    f"{mode}send": partial(_begin_send, getattr(_PLAIN, f"I{mode}send")) for mode in ("", "s", "r")
}
_RECEIVES: dict[str, Method] = {"recv": _begin_recv, "sendrecv": _begin_both, "sendrecv_replace": _begin_replacing}
OF_COMM: dict[str, Method] = {name: _bsend(getattr(_PLAIN, name)) for name in ("Bsend", "Ibsend")}
OF_COMM |= {name.capitalize(): _blocking_send(begin) for name, begin in _SENDS.items()}
OF_COMM |= {name.capitalize(): _blocking_receive(begin) for name, begin in _RECEIVES.items()}
OF_COMM |= {f"I{name}": _with_request(begin) for name, begin in (_SENDS | _RECEIVES).items()}
OF_MESSAGE = {"Recv": _blocking_receive(_begin_probed), "Irecv": _with_request(_begin_probed)}
PROBES = ("Probe", "Iprobe", "Mprobe", "Improbe")
