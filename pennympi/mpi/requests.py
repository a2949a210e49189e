"""Requests of transfers, for which all waits of MPI work, and the classes that stand in for mpi4py's.

A wait of these classes makes the looks itself.  During a wait of mpi4py's own class the thread makes them (transfer.py).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from ..errors import Unsupported
from ..once import once
from .transfer import Transfer, any_under_way, look_at_all, looks, note_program, wake_thread

_PLAIN = MPI.Request


class _Looking(MPI.Request if TYPE_CHECKING else object):  # type: ignore[misc]
    """A request that waits for a transfer by looking at it."""

    _transfer: Transfer | None = None

    def Wait(self, status: MPI.Status | None = None) -> Any:
        transfer, self._transfer = self._transfer, None
        if transfer is None:
            return super().Wait(status)
        try:
            transfer.wait()
        except Exception:
            super().Wait(status)
            raise
        except BaseException:  # the program was interrupted, and may wait again
            self._transfer = transfer
            raise
        return super().Wait(status)

    def Test(self, status: MPI.Status | None = None) -> bool:
        if self._transfer and not self._transfer.is_complete:
            note_program()
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
    """The request of a transfer, for which all waits of MPI work.  begin: function that returns the transfer"""

    def __new__(cls, begin: Callable[[], Transfer]) -> Request:
        _prepare()
        transfer = begin()

        def query(status: MPI.Status) -> None:
            if transfer.error is None or transfer.is_raised:
                return transfer.result.fill(status)
            raise transfer.error if isinstance(transfer.error, MPI.Exception) else MPI.Exception(MPI.ERR_OTHER)

        begun = MPI.Grequest.Start(query, _nothing, lambda is_complete: None if is_complete else transfer.cancel())
        transfer.on_complete = MPI.Grequest(begun).Complete  # MPI clears the handle of ``begun`` when the user has waited
        request: Request = super().__new__(cls, begun)
        request._transfer = transfer
        transfer.start()
        wake_thread()
        return request


def _nothing() -> None:
    pass


@once
def _prepare() -> None:
    """Put ``Requests`` into mpi4py's module.  Raises Unsupported."""
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        raise Unsupported(
            "a non-blocking call of an array on a GPU needs MPI_THREAD_MULTIPLE, as mpi4py starts MPI by default: "
            "leave mpi4py.rc as it is, or call the blocking method"
        )
    vars(MPI)["Request"] = Requests


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

    def __subclasscheck__(cls, kind: Any) -> bool:
        return issubclass(kind, cls.__bases__[-1])


class Requests(MPI.Request, metaclass=Standing):
    """mpi4py's class MPI.Request: its waits and tests of several requests look at the transfers, too."""

    @classmethod
    def Waitall(cls, requests: Sequence[MPI.Request], statuses: Any = None) -> Any:
        for transfer in _transfers(requests):
            transfer.finish()
        return _until(lambda is_done: is_done, _PLAIN.Waitall, _PLAIN.Testall, requests, statuses)

    @classmethod
    def Waitany(cls, requests: Sequence[MPI.Request], status: MPI.Status | None = None) -> int:
        result = _until(lambda result: result[1], _PLAIN.Waitany, _PLAIN.Testany, requests, status)
        return int(result[0] if isinstance(result, tuple) else result)

    @classmethod
    def Waitsome(cls, requests: Sequence[MPI.Request], statuses: Any = None) -> Any:
        return _until(lambda indices: indices != [], _PLAIN.Waitsome, _PLAIN.Testsome, requests, statuses)

    @classmethod
    def Testall(cls, requests: Sequence[MPI.Request], statuses: Any = None) -> bool:
        return bool(_looked(_PLAIN.Testall, requests, statuses))

    @classmethod
    def Testany(cls, requests: Sequence[MPI.Request], status: MPI.Status | None = None) -> Any:
        return _looked(_PLAIN.Testany, requests, status)

    @classmethod
    def Testsome(cls, requests: Sequence[MPI.Request], statuses: Any = None) -> Any:
        return _looked(_PLAIN.Testsome, requests, statuses)


def _until(is_done: Callable[[Any], Any], wait: Any, test: Any, requests: Sequence[MPI.Request], status: Any) -> Any:
    """The result of ``test`` once it is done, or of ``wait`` if no transfer is under way."""
    if any_under_way():
        for _ in looks(all(getattr(request, "_transfer", None) or not request for request in requests)):
            result = _checked(test, requests, status)
            if is_done(result):
                return result
    return _checked(wait, requests, status)


def _looked(test: Any, requests: Sequence[MPI.Request], status: Any) -> Any:
    """The result of ``test`` after a look."""
    if any_under_way():
        note_program()
        look_at_all()
    return _checked(test, requests, status)


def _checked(call: Any, requests: Sequence[MPI.Request], status: Any) -> Any:
    """The result of a call.  Raises the error of a transfer in place of MPI's."""
    try:
        return call(requests, status)
    except MPI.Exception:
        for transfer in _transfers(requests):
            if transfer.error is not None and not transfer.is_raised:
                transfer.is_raised = True
                raise transfer.error from None
        raise


def _transfers(requests: Sequence[MPI.Request]) -> list[Transfer]:
    return [transfer for request in requests if (transfer := getattr(request, "_transfer", None))]


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
