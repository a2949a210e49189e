"""Messages from rank to rank, of arrays that may lie on GPUs.

MPI carries the message itself, or in its place an envelope of the same tag, which MPI matches in the same order.  The
receiver of an envelope copies from the sender's memory, and writes its answer into a slot of the sender's page (page.py).
MPI carries the message itself if it is small, if other processes can't reach its memory, or if its receiver has not
announced that it takes envelopes (receives.py).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from mpi4py import MPI

from ..errors import Unsupported
from ..units import size_text
from .allocations import locate, number_of_gpu
from .flat import Flat
from .gpu import copied_to_host, current_stream, memory_of
from .log import LOGS, log_way
from .message import is_on_gpu, message_of
from .page import FAILED, MOST_BYTES, SENT, STATE, envelope, own_page, put_true_size, release_slot, take_slot
from .receives import begin_receive
from .requests import Request
from .transfer import NOTHING, Overdue, Steps, Transfer, leave

_PLAIN, _PLAIN_MESSAGE = MPI.Intracomm, MPI.Message
Method = Callable[..., Any]


# Sends ---------------------------------------------------------------------------------
def _begin_send(begin: Callable[..., MPI.Request], comm: Any, spec: Any, dest: int, tag: int) -> Transfer:
    """A message.  begin: MPI's non-blocking call of the message's mode.  Raises LeftToMPI."""
    memory, page = memory_of(spec), comm._agree().page(dest)
    slot = None
    if memory and memory.n_bytes > MOST_BYTES and dest != MPI.PROC_NULL:
        location = page and locate(memory.address, page)
        if page is None or location is None:
            _warn_of_host(memory.n_bytes, page is None)
        elif page.takes_from(number_of_gpu(memory.device)):
            slot = take_slot(memory.n_bytes, tag, page.card.process.pid, location)
    sent: Any = spec
    if slot is not None:
        current_stream().synchronize()
        sent = envelope(slot)
    elif memory:
        sent = [copied_to_host(memory), MPI.BYTE]
    elif is_on_gpu(spec):
        sent = [Flat(False).source(message_of(spec)), MPI.BYTE]
    try:
        request = begin(comm, sent, dest, tag)
    except BaseException:
        if slot is not None:
            release_slot(slot)
        raise
    what = lambda: f"a message of {message_of(spec).n_bytes} bytes to rank {dest} with tag {tag}"  # noqa: E731
    if LOGS:
        log_way(comm, what(), "MPI" if slot is None else "a copy from GPU to GPU")
    me = comm.rank  # the program may free comm meanwhile
    return Transfer(_steps_of_send(request, slot, (spec, sent)), lambda: Overdue(me, {dest: page}, what()))


def _steps_of_send(request: MPI.Request, slot: int | None, buffers: Any) -> Steps:
    """buffers: objects that must live until the message has gone"""
    words = None if slot is None else own_page().slots[slot]
    try:
        while not request.Test():
            yield
        if slot is None or words is None:
            return NOTHING
        while words[STATE] == SENT:
            yield
    except GeneratorExit:  # this process gives up, and a late receiver must not take other data for the message
        if words is not None:
            words[STATE] = FAILED
        raise
    failed = words[STATE] == FAILED
    release_slot(slot)
    if failed:
        raise Unsupported("the receiver of a message can't open this process's memory on its GPU: see its own error")
    return NOTHING


def _warn_of_host(n_bytes: int, is_far: bool) -> None:
    reason = "its rank is on another node, or there was no collective of this communicator yet"
    if not is_far:
        reason = "other processes can't reach its memory: allocate it by cudaMalloc, as CuPy does, or team.empty"
    warnings.warn(f"a message of {size_text(n_bytes)} on a GPU goes through memory of the host: {reason}", stacklevel=6)


# The methods of mpi4py -----------------------------------------------------------------
def _begin_both(comm: Any, sendbuf: Any, dest: int, sendtag: int, recvbuf: Any, source: int, recvtag: int) -> Transfer:
    """A transfer of two messages."""
    receive = begin_receive(comm, _PLAIN.Irecv, recvbuf, source, recvtag)
    try:
        send = _begin_send(_PLAIN.Isend, comm, sendbuf, dest, sendtag)
    except BaseException:
        receive.cancel()
        leave(receive)  # it may have matched a message, whose sender waits for an answer
        raise
    return Transfer(_steps_of_both(receive, send))


def _steps_of_both(receive: Transfer, send: Transfer) -> Steps:
    while not (receive.look() & send.look()):
        if send.error:
            receive.cancel()
            leave(receive)
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
    return begin_receive(comm, _PLAIN.Irecv, buf, source, tag)


def _begin_probed(message: Any, buf: Any) -> Transfer:
    begin = lambda comm, spec, source, tag: _PLAIN_MESSAGE.Irecv(message, spec)  # noqa: E731
    return begin_receive(message.comm, begin, buf, MPI.ANY_SOURCE, MPI.ANY_TAG)


def _blocking_send(begin: Callable[..., Transfer]) -> Method:
    def method(comm: Any, *args: Any) -> None:
        begin(comm, *args).run()

    return method


def _blocking_receive(begin: Callable[..., Transfer]) -> Method:
    def method(comm: Any, *args: Any) -> None:
        result, status = begin(comm, *args[:-1]).run(), args[-1]
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
