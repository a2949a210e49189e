"""Methods of mpi4py that are given arrays on GPUs.

An MPI that is not built for CUDA reads an address of a GPU as one of the host, and the process dies.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from mpi4py import MPI

from ..errors import Unsupported
from ..team import Team
from .calls import Call
from .message import buffer_of, is_on_gpu

STAGED = (
    "Gather", "Gatherv", "Scatter", "Scatterv", "Scan", "Exscan", "Recv", "Sendrecv", "Sendrecv_replace",
    "Send", "Ssend", "Bsend", "Rsend", "Isend", "Issend", "Ibsend", "Irsend",
)  # fmt: skip
REFUSED = [name for name in dir(MPI.Intracomm) if name.startswith("I") or name.endswith(("_init", "Alltoallw"))]
_BUF = dict.fromkeys(("Bcast", "Recv", "Sendrecv_replace"), (0, "buf"))
_WRITTEN = _BUF | {
    "Sendrecv": (3, "recvbuf")
}  # the argument that is written, by place and name; of others (1, "recvbuf")


def unless_on_gpu(name: str, on_gpu: Callable[..., Any]) -> Callable[..., Any]:
    """The method of mpi4py, but ``on_gpu(comm, name, args, named)`` where an argument is an array on a GPU."""
    plain = getattr(MPI.Intracomm, name)

    @wraps(plain)
    def method(self: MPI.Intracomm, *args: Any, **named: Any) -> Any:
        if any(map(is_on_gpu, (*args, *named.values()))):
            return on_gpu(self, name, args, named)
        return plain(self, *args, **named)

    return method


def refuse(comm: MPI.Intracomm, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Raises Unsupported."""
    raise Unsupported(f"{name} of an array on a GPU: call the blocking method, or give an array of the host")


def stage(comm: MPI.Intracomm, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Run the method on copies in pinned memory of the host."""
    given: dict[Any, Any] = {**dict(enumerate(args)), **named}
    copies = {key: _copied(arg, name) if is_on_gpu(arg) else arg for key, arg in given.items()}
    places = [copies[place] for place in range(len(args))]
    result = getattr(MPI.Intracomm, name)(comm, *places, **{key: copies[key] for key in named})
    written = () if name.lower().endswith("send") else _WRITTEN.get(name, (1, "recvbuf"))
    for key in given.keys() & written:
        if is_on_gpu(given[key]):
            _array(given[key]).set(buffer_of(copies[key]))
    return result


def _copied(arg: Any, name: str) -> Any:
    """An argument with a copy of its array."""
    import cupyx

    array = _array(arg)
    _warn(name, array.nbytes)
    copy = cupyx.empty_pinned(array.shape, array.dtype)
    array.get(out=copy)
    return copy if arg is buffer_of(arg) else type(arg)((copy, *arg[1:]))


def _array(arg: Any) -> Any:
    """The CuPy array over the same memory."""
    import cupy

    buffer = buffer_of(arg)
    return cupy.asarray(buffer) if hasattr(buffer, "__cuda_array_interface__") else cupy.from_dlpack(buffer)


@cache
def _warn(name: str, nbytes: int) -> None:
    warnings.warn(f"{name} of an array on a GPU, {nbytes} bytes, goes through memory of the host", stacklevel=5)


def current_stream() -> Any:
    """CuPy's current stream."""
    import cupy

    return cupy.cuda.get_current_stream()


def begin(team: Team, call: Call) -> MPI.Request:
    """Enqueue a call on CuPy's current stream; the request completes when the stream has run it.

    Any method of MPI waits for it.  Needs an MPI with MPI_THREAD_MULTIPLE, as mpi4py starts it.
    """
    call.run(team)
    request = MPI.Grequest.Start(lambda status: None, lambda: None, lambda _: None)
    held = MPI.Grequest(request)  # MPI's own handle is gone once the user has waited
    current_stream().launch_host_func(lambda of: of[0].Complete(), (held, call))
    return request


class Persistent(MPI.Prequest):
    """A persistent collective on a GPU.  Waitall and Startall of several take MPI's own requests only."""

    _start: Callable[[], MPI.Request] | None
    _begun: MPI.Request | None

    def __new__(cls, team: Team, call: Call) -> Persistent:
        made: Persistent = super().__new__(cls)
        made._start, made._begun = lambda: begin(team, call), None
        return made

    def Start(self) -> None:
        assert self._start is not None, "the request has been freed"
        self._begun = self._start()

    def Wait(self, status: Any = None) -> Any:
        return self._begun.Wait(status) if self._begun else True

    def Test(self, status: Any = None) -> bool:
        return self._begun.Test(status) if self._begun else True

    def Free(self) -> None:
        self._start = self._begun = None
