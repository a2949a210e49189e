"""The methods of mpi4py other than messages, for arrays on GPUs: the team runs them, or MPI on copies on the host."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from mpi4py import MPI

from ..errors import Unsupported
from .agreement import agreement_of
from .flat import Flat
from .gpu import current_stream, mark
from .message import LeftToMPI, buffer_of, is_on_gpu
from .requests import Request
from .table import Row, Run
from .transfer import Result, Transfer, until

Method = Callable[..., Any]


def refuse(plain: Method) -> Method:
    """A method that refuses arrays on GPUs."""

    def refused(comm: Any, *args: Any) -> Any:
        raise Unsupported(f"{plain.__name__} of an array on a GPU: give an array of the host, or call another method")

    return refused


def begun(row: Row, plain: Method) -> Method:
    """A non-blocking collective of the table on CuPy's current stream, whose request is complete when it has run.

    If a result has to be copied to another array of this rank, the call is complete on return.
    """
    stage = staged(plain)

    def begin(comm: Any, *args: Any) -> MPI.Request:
        try:
            run = row.read(comm, *args)
        except LeftToMPI:
            return stage(comm, *args)
        team = agreement_of(comm).team_or_none(comm)
        if team is None or team.backend != "cuda":
            return stage(comm, *args)
        return Request(lambda: enqueued(team, run, args))

    def enqueued(team: Any, run: Run, buffers: Any) -> Transfer:
        flat = Flat(True)
        run(team, flat)
        flat.put_back()
        event = mark()
        return Transfer(until(lambda: event is None or event.done, Result, keep=(buffers, flat)))

    return begin


def staged(plain: Method) -> Method:
    """Run the method on copies in pinned memory of the host."""
    name = plain.__name__
    kind = name.removeprefix("I").lower()
    written = 0 if kind == "bcast" else 1  # place of the argument that the method writes

    def run(comm: Any, *args: Any) -> Any:
        n_parts = 0 if "neighbor" in kind else comm.size
        arrays = {place: _array(arg, n_parts) for place, arg in enumerate(args) if is_on_gpu(arg)}
        warnings.warn(f"{name} of an array on a GPU goes through memory of the host", stacklevel=3)
        copies = {place: _copy_of(array) for place, array in arrays.items()}
        passed = [_with(copies[place], arg) if place in copies else arg for place, arg in enumerate(args)]
        stream = current_stream()

        def put_back() -> Result:
            if written in copies:
                with arrays[written].device, stream:
                    arrays[written].set(copies[written])
                stream.synchronize()
            return Result()

        if kind == name.lower():
            result = plain(comm, *passed)
            put_back()
            return result

        def begin() -> Transfer:
            request = plain(comm, *passed)
            return Transfer(until(request.Test, put_back, keep=passed), can_cancel=request)

        return Request(begin)

    return run


def _copy_of(array: Any) -> Any:
    """A copy in pinned memory of the host."""
    import cupyx

    copy = cupyx.empty_pinned(array.shape, array.dtype)
    array.get(out=copy)
    return copy


def _with(copy: Any, arg: Any) -> Any:
    """An argument with a copy in place of its array."""
    return copy if arg is buffer_of(arg) else type(arg)((copy, *arg[1:]))


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
