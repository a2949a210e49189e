"""Methods of mpi4py that are given arrays on GPUs.

An MPI that is not built for CUDA reads an address of a GPU as one of the host, and the process dies.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import wraps
from inspect import signature
from typing import Any

import numpy as np
from mpi4py import MPI

from ..errors import Unsupported
from ..team import Team
from . import receiving
from .calls import TABLE
from .envelope import LEAST_BYTES
from .flat import Flat
from .gpu_copies import current_stream, mark
from .message import NotRead, buffer_of, is_on_gpu
from .point_to_point import OF_MESSAGE, RECEIVES, SENDS
from .transfer import Persistent, Request, Result, Steps, Transfer

_STAGED: set[str] = set()  # what a warning was given for
_BUFFERS = {"buf", "sendbuf", "recvbuf"}


def for_gpus(methods: dict[str, Callable[..., Any]], collectives: Iterable[str]) -> dict[str, Callable[..., Any]]:
    """Those methods of mpi4py's that take a buffer, for arrays on GPUs, too.  collectives: what a team may run"""
    taking = {name for name in methods if not _BUFFERS.isdisjoint(signature(methods[name]).parameters)}
    on_gpu: dict[str, Callable[..., Any]] = dict.fromkeys(taking, _stage)
    on_gpu |= {f"I{name.lower()}": _begun(name) for name in collectives}
    receives = RECEIVES if "Send" in methods else OF_MESSAGE
    on_gpu |= {name: _message(run) for name, run in (SENDS | receives).items() if name in taking}
    for name in ("Attach_buffer", *(name for name in taking if name.endswith("_init"))):
        begins = f"I{name.removesuffix('_init').lower()}"
        on_gpu[name] = _persistent(on_gpu[begins], methods[begins]) if begins in taking else _refuse
    receiving_names = {*receives, "Recv_init"}
    wrappers = {True: _unless_by_envelope, False: _unless_on_gpu}
    return {name: wrappers[name in receiving_names](methods[name], on_gpu[name]) for name in taking}


def _message(run: Callable[..., Any]) -> Callable[..., Any]:
    """What a method of messages does.  run: takes its arguments; raises NotRead"""

    def on_gpu(comm: Any, plain: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        try:
            return run(comm, *args, **named)
        except NotRead:
            return plain(comm, *args, **named)

    return on_gpu


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
        return Request(lambda: _begin(team, run, (args, named)))

    return on_gpu


def _persistent(on_gpu: Callable[..., Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    """What a persistent call of arrays on GPUs does, by its non-blocking one."""
    return lambda comm, _, args, named: Persistent(lambda: on_gpu(comm, plain, args, named))


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


def _unless_by_envelope(plain: Callable[..., Any], on_gpu: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a receive, which may be of an envelope, wherever its array lies."""
    on_host, begins = _unless_on_gpu(plain, on_gpu), plain.__name__ not in ("Recv", "Sendrecv", "Sendrecv_replace")
    names = list(signature(plain).parameters)
    place = names.index("recvbuf" if "recvbuf" in names else "buf") - 1

    @wraps(plain)
    def method(self: Any, *args: Any, **named: Any) -> Any:
        if receiving.takes_envelopes:
            received = args[place] if place < len(args) else None
            if type(received) is not np.ndarray or received.nbytes >= LEAST_BYTES:  # an envelope fits into it
                return on_gpu(self, plain, args, named)
        made = on_host(self, *args, **named)
        return receiving.note(made) if begins else made

    return method


def _refuse(comm: Any, plain: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Raises Unsupported."""
    raise Unsupported(f"{plain.__name__} of an array on a GPU: give an array of the host, or call another method")


def _stage(comm: Any, plain: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Run the method on copies in pinned memory of the host."""
    name = plain.__name__
    kind = name.removeprefix("I").lower()
    written = (0, "buf") if kind == "bcast" else (1, "recvbuf")  # the argument's place and name
    given: dict[Any, Any] = {**dict(enumerate(args)), **named}
    n_parts = 0 if "neighbor" in kind else comm.size
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

    def run() -> Any:
        return plain(comm, *[passed[place] for place in range(len(args))], **{key: passed[key] for key in named})

    if kind != name.lower():
        return Request(lambda: _until(run(), put_back, passed))
    result = run()
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


def _until(request: MPI.Request, put_back: Callable[[], None], buffers: Any) -> Transfer:
    """A transfer that is complete when another request is, and its result on the GPU.

    buffers: what mpi4py does not hold for all methods until they are complete
    """

    def steps(_: Any) -> Steps:
        while not request.Test():
            yield
        put_back()
        return Result()

    return Transfer(steps(buffers), can_cancel=request)


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


def _begin(team: Team, run: Callable[[Team, Flat], Any], buffers: Any) -> Transfer:
    """Enqueue a call on CuPy's current stream; the transfer is complete when the stream has run it.

    Where an array of this rank had to be copied, the stream has run it on return.
    """
    flat = Flat(True)
    run(team, flat)
    flat.put_back()
    event = mark()

    def steps(_: Any) -> Steps:
        while event is not None and not event.done:
            yield
        return Result()

    return Transfer(steps((buffers, flat)))
