"""Methods of MPI that are given arrays on GPUs: they run on copies in memory of the host.

An MPI that is not built for CUDA reads an address of a GPU as one of the host, and the process dies.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from mpi4py import MPI

from ..errors import Unsupported
from .message import any_on_device, buffer_of, on_device

_OUT = (1, "recvbuf")
_SENT = (99, "")
WRITTEN = {  # the argument that a method writes, by place and by name
    "Bcast": (0, "buf"), "Allreduce": _OUT, "Reduce": _OUT, "Allgather": _OUT, "Alltoall": _OUT, "Alltoallv": _OUT,
    "Reduce_scatter_block": _OUT, "Allgatherv": _OUT, "Reduce_scatter": _OUT, "Gather": _OUT, "Gatherv": _OUT,
    "Scatter": _OUT, "Scatterv": _OUT, "Scan": _OUT, "Exscan": _OUT, "Recv": (0, "buf"), "Sendrecv": (3, "recvbuf"),
    "Sendrecv_replace": (0, "buf"), "Send": _SENT, "Ssend": _SENT, "Bsend": _SENT, "Rsend": _SENT, "Isend": _SENT,
    "Issend": _SENT, "Ibsend": _SENT, "Irsend": _SENT,
}  # fmt: skip
REFUSED = (
    "Irecv", "Isendrecv", "Isendrecv_replace", "Igather", "Igatherv", "Iscatter", "Iscatterv", "Iscan", "Iexscan",
    "Alltoallw", "Ialltoallw", "Alltoallw_init", "Send_init", "Recv_init", "Bsend_init", "Ssend_init", "Rsend_init",
    "Psend_init", "Precv_init", "Gather_init", "Gatherv_init", "Scatter_init", "Scatterv_init", "Scan_init",
    "Exscan_init",
)  # fmt: skip


def staged(name: str) -> Callable[..., Any]:
    """The method of mpi4py, which takes arrays on GPUs, too."""
    plain, (place, keyword) = getattr(MPI.Intracomm, name), WRITTEN[name]

    @wraps(plain)
    def method(self: MPI.Intracomm, *args: Any, **named: Any) -> Any:
        if not any_on_device(args, named):
            return plain(self, *args, **named)
        copies = [_copied(arg, name) for arg in args]
        by_name = {key: _copied(arg, name) for key, arg in named.items()}
        result = plain(self, *copies, **by_name)
        to, copy = (args[place], copies[place]) if place < len(args) else (named.get(keyword), by_name.get(keyword))
        if on_device(buffer_of(to)):
            _array(buffer_of(to)).set(buffer_of(copy))
        return result

    return method


def refused(name: str) -> Callable[..., Any]:
    """The method of mpi4py, which raises Unsupported for arrays on GPUs."""
    plain = getattr(MPI.Intracomm, name)

    @wraps(plain)
    def method(self: MPI.Intracomm, *args: Any, **named: Any) -> Any:
        if any_on_device(args, named):
            raise Unsupported(f"{name} of an array on a GPU: call the blocking method, or give an array of the host")
        return plain(self, *args, **named)

    return method


def _copied(arg: Any, name: str) -> Any:
    """An argument whose array, if it lies on a GPU, is a copy in pinned memory of the host."""
    if not on_device(buffer_of(arg)):
        return arg
    import cupyx

    array = _array(buffer_of(arg))
    _warn(name, array.nbytes)
    copy = cupyx.empty_pinned(array.shape, array.dtype)
    array.get(out=copy)
    return copy if arg is buffer_of(arg) else type(arg)((copy, *arg[1:]))


def _array(buffer: Any) -> Any:
    """The CuPy array over the same memory."""
    import cupy

    return cupy.asarray(buffer) if hasattr(buffer, "__cuda_array_interface__") else cupy.from_dlpack(buffer)


@cache
def _warn(name: str, nbytes: int) -> None:
    warnings.warn(f"{name} of an array on a GPU, {nbytes} bytes, goes through memory of the host", stacklevel=4)
