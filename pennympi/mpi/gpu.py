"""Methods of mpi4py that are given arrays on GPUs.

An MPI that is not built for CUDA reads an address of a GPU as one of the host, and the process dies.
"""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable, Iterable
from functools import wraps
from inspect import signature
from threading import Thread
from typing import Any

from mpi4py import MPI

from ..errors import Unsupported
from ..team import Team
from .calls import TABLE
from .flat import Flat
from .message import NotRead, buffer_of, is_on_gpu

# The argument that a method writes, by place and name; (1, "recvbuf") of others.
_WRITTEN = dict.fromkeys(("bcast", "recv", "sendrecv_replace"), (0, "buf")) | {"sendrecv": (3, "recvbuf")}
_STAGED: set[str] = set()  # what a warning was given for
_BUFFERS = {"buf", "sendbuf", "recvbuf"}


def for_gpus(methods: dict[str, Callable[..., Any]], collectives: Iterable[str]) -> dict[str, Callable[..., Any]]:
    """Those methods of mpi4py's that take a buffer, for arrays on GPUs, too.  collectives: what a team may run"""
    taking = {name for name in methods if not _BUFFERS.isdisjoint(signature(methods[name]).parameters)}
    on_gpu: dict[str, Callable[..., Any]] = dict.fromkeys(taking, _stage)
    on_gpu |= {f"I{name.lower()}": _begun(name) for name in collectives}
    for name in ("Attach_buffer", *(name for name in taking if name.endswith("_init"))):
        begins = f"I{name.removesuffix('_init').lower()}"
        on_gpu[name] = _persistent(on_gpu[begins], methods[begins]) if begins in taking else _refuse
    return {name: _unless_on_gpu(methods[name], on_gpu[name]) for name in taking}


def _begun(name: str) -> Callable[..., Any]:
    """What a non-blocking collective of arrays on GPUs does."""

    def on_gpu(comm: Any, plain: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        try:
            run = TABLE[name].read(comm, *args, **named).run
        except NotRead:
            run = None
        team = comm._agree().team_or_none(comm) if run else None
        if run is None or team is None or team.backend != "cuda":
            return _stage(comm, plain, args, named)
        return _begin(team, run, (args, named))

    return on_gpu


def _persistent(on_gpu: Callable[..., Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    """What a persistent call of arrays on GPUs does, by its non-blocking one."""
    return lambda comm, _, args, named: _Persistent(lambda: on_gpu(comm, plain, args, named))


def _unless_on_gpu(plain: Callable[..., Any], on_gpu: Callable[..., Any]) -> Callable[..., Any]:
    """The method of mpi4py, but ``on_gpu(comm, plain, args, named)`` where an argument is an array on a GPU."""

    places = [place for place, name in enumerate(signature(plain).parameters, -1) if name in _BUFFERS]  # self is at -1

    @wraps(plain)
    def method(self: Any, *args: Any, **named: Any) -> Any:
        for place in places:
            if place < len(args) and is_on_gpu(args[place]):
                return on_gpu(self, plain, args, named)
        if named and any(map(is_on_gpu, named.values())):
            return on_gpu(self, plain, args, named)
        return plain(self, *args, **named)

    return method


def _refuse(comm: Any, plain: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Raises Unsupported."""
    raise Unsupported(f"{plain.__name__} of an array on a GPU: give an array of the host, or call another method")


def _stage(comm: Any, plain: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Run the method on copies in pinned memory of the host."""
    name = plain.__name__
    kind = name.removeprefix("I").lower()
    if kind != name.lower():
        _check_threads()
    written = () if kind.endswith("send") else _WRITTEN.get(kind, (1, "recvbuf"))
    given: dict[Any, Any] = {**dict(enumerate(args)), **named}
    n_parts = 0 if "neighbor" in kind else getattr(comm, "size", 1)
    arrays = {key: _array(arg, n_parts) for key, arg in given.items() if is_on_gpu(arg)}
    if name not in _STAGED:
        _STAGED.add(name)
        n_bytes = next(iter(arrays.values())).nbytes
        text = f"{name} of an array on a GPU, {n_bytes} bytes, goes through memory of the host"
        warnings.warn(text, stacklevel=3)
    copies = {key: _copy_of(array) for key, array in arrays.items()}
    passed = given | {key: _with(copy, given[key]) for key, copy in copies.items()}
    stream = current_stream()

    def put_back() -> None:
        for key in copies.keys() & written:
            with arrays[key].device, stream:
                arrays[key].set(copies[key])
        stream.synchronize()

    result = plain(comm, *[passed[place] for place in range(len(args))], **{key: passed[key] for key in named})
    if isinstance(result, MPI.Request):
        return _finished(result, put_back, passed)
    put_back()
    return result


def _copy_of(array: Any) -> Any:
    """A copy in pinned memory of the host."""
    import cupyx

    copy = cupyx.empty_pinned(array.shape, array.dtype)
    array.get(out=copy)
    return copy


def _with(copy: Any, arg: Any) -> Any:
    """An argument with a copy in place of its array."""
    return copy if arg is buffer_of(arg) else type(arg)((copy, *arg[1:]))


def _finished(request: MPI.Request, put_back: Callable[[], None], buffers: Any) -> MPI.Request:
    """A request that is complete when another one is, and its result on the GPU: a thread waits for that.

    buffers: what mpi4py does not hold for all methods until they are complete
    """
    found = MPI.Status()
    failures: list[MPI.Exception] = []

    def query(status: MPI.Status) -> None:
        if failures:
            raise failures[0]
        status.source, status.tag, status.cancelled = found.source, found.tag, found.cancelled
        status.Set_elements(MPI.BYTE, max(0, found.Get_elements(MPI.BYTE)))

    made = MPI.Grequest.Start(query, lambda: None, lambda is_complete: None if is_complete else request.Cancel())
    held = MPI.Grequest(made)  # MPI's own handle is gone once the user has waited

    def finish(_: Any) -> None:
        try:
            request.Wait(found)
            put_back()
        except MPI.Exception as failure:
            failures.append(failure)
        held.Complete()

    Thread(target=finish, args=(buffers,), daemon=True).start()
    return made


def _check_threads() -> None:
    """A thread completes the request.  Raises Unsupported."""
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        raise Unsupported(
            "a non-blocking call of an array on a GPU needs MPI_THREAD_MULTIPLE, as mpi4py starts MPI by default: "
            "leave mpi4py.rc as it is, or call the blocking method"
        )


def _array(arg: Any, n_parts: int) -> Any:
    """The flat CuPy array over the memory of an argument.  n_parts: most parts that its message has, 0 if not known"""
    import cupy

    buffer = buffer_of(arg)
    array = cupy.asarray(buffer) if hasattr(buffer, "__cuda_array_interface__") else cupy.from_dlpack(buffer)
    array = array.ravel(order="K")
    if n_parts and arg is not buffer and len(arg) == 3:
        _, count, datatype = arg
        if isinstance(count, int) and isinstance(datatype, MPI.Datatype) and datatype.is_predefined:
            n_bytes = n_parts * count * datatype.extent
            return array.view("uint8")[: max(1, n_bytes)]  # an array of no elements has no address
    return array


def current_stream() -> Any:
    """CuPy's current stream."""
    import cupy

    return cupy.cuda.get_current_stream()


def _begin(team: Team, run: Callable[[Team, Flat], Any], buffers: Any) -> MPI.Request:
    """Enqueue a call on CuPy's current stream; the request completes when the stream has run it.

    Any method of MPI waits for it.  Where an array of this rank had to be copied, the stream has run it on return.
    """
    _check_threads()
    flat = Flat(True)
    run(team, flat)
    flat.put_back()
    request = MPI.Grequest.Start(lambda status: None, lambda: None, lambda _: None)
    held = MPI.Grequest(request)  # MPI's own handle is gone once the user has waited
    current_stream().launch_host_func(lambda of: of[0].Complete(), (held, buffers, flat))
    return request


class _Persistent(MPI.Prequest):
    """A persistent call on a GPU: each Start begins one.  Startall raises MPI.Exception of it."""

    _start: Callable[[], MPI.Request] | None

    def __new__(cls, start: Callable[[], MPI.Request]) -> _Persistent:
        made: _Persistent = super().__new__(cls)
        made._start = start
        return made

    def Start(self) -> None:
        assert self._start is not None, "the request has been freed"
        begun = self._start()
        ctypes.memmove(MPI._addressof(self), MPI._addressof(begun), MPI._sizeof(begun))  # Waitall knows it, too

    def Free(self) -> None:
        self._start = None
