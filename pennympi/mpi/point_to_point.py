"""mpi4py's methods of messages from rank to rank, for arrays that may lie on GPUs: each takes all of its arguments."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from mpi4py import MPI

from .agreement import agreement_of
from .envelope import put_true_size
from .flat import Flat
from .gpu_copies import memory_of
from .message import message_of
from .receiving import begin_receive
from .sending import begin_send
from .transfer import Request, Result, Transfer, until

_PLAIN = MPI.Intracomm
Method = Callable[..., Any]


def _begin_both(comm: Any, sendbuf: Any, dest: int, sendtag: int, recvbuf: Any, source: int, recvtag: int) -> Transfer:
    """A transfer that is complete when both messages are."""
    receive = begin_receive(comm, _PLAIN.Irecv, recvbuf, source, recvtag)
    try:
        send = begin_send(_PLAIN.Isend, comm, sendbuf, dest, sendtag)
    except BaseException:
        receive.cancel()
        raise

    def result() -> Result:
        for error in filter(None, (receive.error, send.error)):
            raise error
        return receive.result

    return Transfer(until(lambda: receive.is_complete and send.is_complete, result))


def _begin_replacing(comm: Any, buf: Any, dest: int, sendtag: int, source: int, recvtag: int) -> Transfer:
    """A message is sent while its buffer receives another one."""
    copy = Flat(memory_of(buf) is not None).source(message_of(buf)).copy()
    return _begin_both(comm, [copy, MPI.BYTE], dest, sendtag, buf, source, recvtag)


def _begin_recv(comm: Any, buf: Any, source: int, tag: int) -> Transfer:
    return begin_receive(comm, _PLAIN.Irecv, buf, source, tag)


def _begin_probed(message: Any, buf: Any) -> Transfer:
    return begin_receive(message.comm, lambda comm, spec, source, tag: MPI.Message.Irecv(message, spec), buf)


def _sending(begin: Callable[..., Transfer]) -> Method:
    def method(comm: Any, *args: Any) -> None:
        begin(comm, *args).wait()

    return method


def _receiving(begin: Callable[..., Transfer]) -> Method:
    def method(comm: Any, *args: Any) -> None:
        result, status = begin(comm, *args[:-1]).wait(), args[-1]
        if status is not None:
            result.fill(status)

    return method


def _requesting(begin: Callable[..., Transfer]) -> Method:
    return lambda comm, *args: Request(lambda: begin(comm, *args))


def _bsend(plain: Method) -> Method:
    """MPI's own, of a copy in memory of the host, for it copies the message."""
    return lambda comm, buf, dest, tag: plain(comm, [Flat(False).source(message_of(buf)), MPI.BYTE], dest, tag)


def with_true_size(plain: Method) -> Method:
    """A probe, which finds the size of the message where its envelope has come."""

    def probe(comm: Any, source: int = MPI.ANY_SOURCE, tag: int = MPI.ANY_TAG, status: MPI.Status | None = None) -> Any:
        status = MPI.Status() if status is None else status
        found = plain(comm, source, tag, status)
        if found is not False and found is not None:
            put_true_size(status, agreement_of(comm).page(status.source))
        return found

    return probe


_SENDS: dict[str, Method] = {
    f"{mode}send": partial(begin_send, getattr(_PLAIN, f"I{mode}send")) for mode in ("", "s", "r")
}
_RECEIVES: dict[str, Method] = {"recv": _begin_recv, "sendrecv": _begin_both, "sendrecv_replace": _begin_replacing}
OF_COMM: dict[str, Method] = {name: _bsend(getattr(_PLAIN, name)) for name in ("Bsend", "Ibsend")}
OF_COMM |= {name.capitalize(): _sending(begin) for name, begin in _SENDS.items()}
OF_COMM |= {name.capitalize(): _receiving(begin) for name, begin in _RECEIVES.items()}
OF_COMM |= {f"I{name}": _requesting(begin) for name, begin in (_SENDS | _RECEIVES).items()}
OF_MESSAGE = {"Recv": _receiving(_begin_probed), "Irecv": _requesting(_begin_probed)}
PROBES = ("Probe", "Iprobe", "Mprobe", "Improbe")
