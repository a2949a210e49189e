"""mpi4py's methods of messages from rank to rank, for arrays that may lie on GPUs: each takes its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mpi4py import MPI

from .envelope import put_true_size
from .flat import Flat
from .gpu_copies import memory_of
from .message import message_of
from .receiving import begin_receive
from .sending import Begin, begin_send
from .transfer import Request, Result, Steps, Transfer

_ANY, _PLAIN, _MESSAGE = MPI.ANY_SOURCE, MPI.Intracomm, MPI.Message


def _sends(mode: str) -> dict[str, Callable[..., Any]]:
    """The methods of a mode: "", "S" or "R"."""
    begin = getattr(_PLAIN, f"I{mode.lower()}send")

    def send(comm: Any, buf: Any, dest: int, tag: int = 0) -> None:
        begin_send(comm, begin, buf, dest, tag).wait()

    def isend(comm: Any, buf: Any, dest: int, tag: int = 0) -> Request:
        return Request(lambda: begin_send(comm, begin, buf, dest, tag))

    return {f"{mode}send".capitalize(): send, f"I{mode.lower()}send": isend}


def _recv(comm: Any, buf: Any, source: int = _ANY, tag: int = MPI.ANY_TAG, status: MPI.Status | None = None) -> None:
    _wait(begin_receive(comm, _PLAIN.Irecv, buf, source, tag), status)


def _irecv(comm: Any, buf: Any, source: int = _ANY, tag: int = MPI.ANY_TAG) -> Request:
    return Request(lambda: begin_receive(comm, _PLAIN.Irecv, buf, source, tag))


def _begin_both(
    comm: Any,
    sendbuf: Any,
    dest: int,
    sendtag: int = 0,
    recvbuf: Any = None,
    source: int = _ANY,
    recvtag: int = MPI.ANY_TAG,
) -> tuple[Transfer, Transfer]:
    receive = begin_receive(comm, _PLAIN.Irecv, recvbuf, source, recvtag)
    try:
        return receive, begin_send(comm, _PLAIN.Isend, sendbuf, dest, sendtag)
    except BaseException:
        receive.cancel()
        raise


def _sendrecv(comm: Any, *args: Any, status: MPI.Status | None = None, **named: Any) -> None:
    receive, send = _begin_both(comm, *args[:6], **named)
    send.wait()
    _wait(receive, args[6] if len(args) > 6 else status)


def _isendrecv(comm: Any, *args: Any, **named: Any) -> Request:
    return Request(lambda: _both(*_begin_both(comm, *args, **named)))


def _both(receive: Transfer, send: Transfer) -> Transfer:
    """A transfer that is complete when both are."""

    def steps() -> Steps:
        while not (receive.is_complete and send.is_complete):
            yield
        for error in filter(None, (receive.error, send.error)):
            raise error
        return receive.result

    return Transfer(steps())


def _copied(buf: Any) -> Any:
    """A message that is sent while its buffer receives another one."""
    return [Flat(memory_of(buf) is not None).source(message_of(buf)).copy(), MPI.BYTE]


def _sendrecv_replace(
    comm: Any, buf: Any, dest: int, sendtag: int = 0, source: int = _ANY, recvtag: int = MPI.ANY_TAG, status: Any = None
) -> None:
    _sendrecv(comm, _copied(buf), dest, sendtag, buf, source, recvtag, status)


def _isendrecv_replace(
    comm: Any, buf: Any, dest: int, sendtag: int = 0, source: int = _ANY, recvtag: int = MPI.ANY_TAG
) -> Request:
    return _isendrecv(comm, _copied(buf), dest, sendtag, buf, source, recvtag)


def _bsend(plain: Callable[..., Any]) -> Callable[..., Any]:
    """MPI's own, of a copy in memory of the host, for it copies the message."""

    def bsend(comm: Any, buf: Any, dest: int, tag: int = 0) -> Any:
        return plain(comm, [Flat(False).source(message_of(buf)), MPI.BYTE], dest, tag)

    return bsend


def _of_probed(message: Any) -> Begin:
    """What begins the receive of a message that was probed."""
    return lambda comm, spec, source, tag: _MESSAGE.Irecv(message, spec)


def _message_recv(message: Any, buf: Any, status: MPI.Status | None = None) -> None:
    _wait(begin_receive(message.comm, _of_probed(message), buf), status)


def _message_irecv(message: Any, buf: Any) -> Request:
    return Request(lambda: begin_receive(message.comm, _of_probed(message), buf))


def _wait(transfer: Transfer, status: MPI.Status | None) -> None:
    result: Result = transfer.wait()
    if status is not None:
        result.fill(status)


def with_true_size(plain: Callable[..., Any]) -> Callable[..., Any]:
    """A probe, which finds the size of the message where its envelope has come."""

    def probe(comm: Any, source: int = _ANY, tag: int = MPI.ANY_TAG, status: MPI.Status | None = None) -> Any:
        status = MPI.Status() if status is None else status
        found = plain(comm, source, tag, status)
        if found is not False and found is not None:
            put_true_size(status, comm._agree().page(status.source))
        return found

    return probe


SENDS = _sends("") | _sends("S") | _sends("R") | {name: _bsend(getattr(_PLAIN, name)) for name in ("Bsend", "Ibsend")}
RECEIVES: dict[str, Callable[..., Any]] = {
    "Recv": _recv, "Irecv": _irecv, "Sendrecv": _sendrecv, "Isendrecv": _isendrecv,
    "Sendrecv_replace": _sendrecv_replace, "Isendrecv_replace": _isendrecv_replace,
}  # fmt: skip
OF_MESSAGE: dict[str, Callable[..., Any]] = {"Recv": _message_recv, "Irecv": _message_irecv}
PROBES = ("Probe", "Iprobe", "Mprobe", "Improbe")
