"""``Comm``: mpi4py's communicator, whose collectives run on a team where that is faster, or where MPI can't.

Arrays of the host go by the team from a size on, by MPI below it, and by MPI where the team is on GPUs.  The size of a
message is the same on every rank, so all ranks decide alike.  Arrays on GPUs always go by the team, or through memory
of the host where it has no such method.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any

from mpi4py import MPI
from numpy import ndarray

from ..errors import Unsupported
from ..settings import setting
from ..start import init
from ..team import Team
from . import calls
from .gpu import current_stream, for_gpus
from .message import NOT_OURS, array_of, at_least, is_small, sent_or_own

_MPI = MPI.Intracomm
NEVER = 1 << 62
# Sizes from which Comm was faster by a team, of NumPy's arrays at two ranks of a node with MPICH 5.0.  The ranks of an
# Alltoallv can't know its size alike.
FROM_BYTES = {
    "Bcast": 1 << 13, "Allreduce": 1 << 6, "Reduce": 1 << 12, "Allgather": 1 << 14, "Alltoall": 1 << 14,
    "Reduce_scatter_block": 1 << 14, "Allgatherv": 1 << 14, "Reduce_scatter": 1 << 14, "Alltoallv": NEVER,
}  # fmt: skip


class Comm(MPI.Intracomm):
    """An mpi4py intra-communicator; ``Comm(MPI.COMM_WORLD)`` shares its ranks and its context.

    All methods are mpi4py's, with its arguments and errors.  The collectives below may run on a team, which the first
    such call makes; those of arrays on GPUs also as I... and ..._init.  A blocking call returns when its result is there.
    On GPUs all ranks of a call pass arrays on GPUs.  ``Free``, or the end of the program, gives the team back.
    Raises what mpi4py raises, and what ``Team`` raises: PeerTimeout, CollectiveMismatchError, Unsupported.
    """

    _team: Team | None = None
    _has_team = True  # or may have one
    _at_once: Mapping[str, Callable[..., Any]] = MappingProxyType({})
    _from_bytes = FROM_BYTES

    def __init__(self, comm: MPI.Comm | None = None):
        from_bytes = setting("PENNYMPI_COMM_FROM_BYTES")
        if from_bytes is not None:
            FROM_BYTES.update(dict.fromkeys(FROM_BYTES, from_bytes))

    @property
    def team(self) -> Team:
        """The team of these ranks; the first use makes it, which is collective."""
        if self._team is None:
            self._team = init(MPI.Intracomm(self))
            self._at_once = calls.at_once(self._team)
            if self._team.backend == "cuda":
                self._from_bytes = dict.fromkeys(FROM_BYTES, NEVER)  # of arrays of the host
        return self._team

    def Free(self) -> None:
        """Give the team and the communicator back.  Collective."""
        if self._team is not None:
            self._team.finalize()
        super().Free()

    def __reduce__(self) -> Any:
        """Where a program has made this its MPI.COMM_WORLD or MPI.COMM_SELF, it is pickled by that name."""
        for name in ("COMM_WORLD", "COMM_SELF"):
            if self is getattr(MPI, name):
                return _predefined, (name,)
        return super().__reduce__()

    # Each collective looks at the size of its message first.  Most calls of arrays of the host go to the team at once.
    def Bcast(self, buf: Any, root: int = 0) -> None:
        least = self._from_bytes["Bcast"]
        if buf.nbytes < least if type(buf) is ndarray else is_small(buf, least):
            return _MPI.Bcast(self, buf, root)
        if self._at_once:
            try:
                x = buf if type(buf) is ndarray else at_least(buf, least)
                return self._at_once["Bcast"]("auto", None, None, x, root)
            except NOT_OURS:
                pass
        return self._run("Bcast", buf, root)

    def Allreduce(self, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM) -> None:
        least = self._from_bytes["Allreduce"]
        if recvbuf.nbytes < least if type(recvbuf) is ndarray else is_small(recvbuf, least):
            return _MPI.Allreduce(self, sendbuf, recvbuf, op)
        if self._at_once and op is MPI.SUM:
            try:
                out = recvbuf if type(recvbuf) is ndarray else at_least(recvbuf, least)
                x = sendbuf if type(sendbuf) is ndarray else out if sendbuf is MPI.IN_PLACE else array_of(sendbuf)
                return self._at_once["Allreduce"]("auto", None, None, x, out, "sum")
            except NOT_OURS:
                pass
        return self._run("Allreduce", sendbuf, recvbuf, op)

    def Reduce(self, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM, root: int = 0) -> None:
        least = self._from_bytes["Reduce"]
        x = recvbuf if sendbuf is MPI.IN_PLACE else sendbuf
        if x.nbytes < least if type(x) is ndarray else is_small(x, least):
            return _MPI.Reduce(self, sendbuf, recvbuf, op, root)
        if self._at_once and op is MPI.SUM:
            try:
                x = sendbuf if type(sendbuf) is ndarray else at_least(sendbuf, least)
                out = recvbuf if type(recvbuf) is ndarray or self.rank != root else array_of(recvbuf)
                return self._at_once["Reduce"]("auto", None, None, x, out, "sum", root)
            except NOT_OURS:
                pass
        return self._run("Reduce", sendbuf, recvbuf, op, root)

    def Allgather(self, sendbuf: Any, recvbuf: Any) -> None:
        least = self._from_bytes["Allgather"]
        if recvbuf.nbytes < least if type(recvbuf) is ndarray else is_small(recvbuf, least, self):
            return _MPI.Allgather(self, sendbuf, recvbuf)
        if self._at_once:
            try:
                out = recvbuf if type(recvbuf) is ndarray else at_least(recvbuf, least, self.size)
                x = sendbuf if type(sendbuf) is ndarray else sent_or_own(sendbuf, out, self)
                if x.dtype is out.dtype:
                    return self._at_once["Allgather"]("auto", None, None, x, out)
            except NOT_OURS:
                pass
        return self._run("Allgather", sendbuf, recvbuf)

    def Alltoall(self, sendbuf: Any, recvbuf: Any) -> None:
        least = self._from_bytes["Alltoall"]
        if recvbuf.nbytes < least if type(recvbuf) is ndarray else is_small(recvbuf, least, self):
            return _MPI.Alltoall(self, sendbuf, recvbuf)
        if self._at_once:
            try:
                x = sendbuf if type(sendbuf) is ndarray else array_of(sendbuf, self.size)
                out = recvbuf if type(recvbuf) is ndarray else at_least(recvbuf, least, self.size)
                if x.dtype is out.dtype:
                    return self._at_once["Alltoall"]("auto", None, None, x, out)
            except NOT_OURS:
                pass
        return self._run("Alltoall", sendbuf, recvbuf)

    def Allgatherv(self, sendbuf: Any, recvbuf: Any) -> None:
        least = self._from_bytes["Allgatherv"]
        if type(recvbuf) is list and len(recvbuf) == 2 and type(recvbuf[0]) is ndarray:
            out, counts = recvbuf
            if out.nbytes < least:
                return _MPI.Allgatherv(self, sendbuf, recvbuf)
            counts, starts = counts if type(counts) is tuple and len(counts) == 2 else (counts, None)
            try:
                is_list = type(sendbuf) is ndarray and type(counts) is list
                if is_list and sum(counts) * out.itemsize >= least:
                    return self._at_once["Allgatherv"]("auto", None, None, sendbuf, out, counts, starts)
            except NOT_OURS:
                pass
        elif is_small(recvbuf, least):
            return _MPI.Allgatherv(self, sendbuf, recvbuf)
        return self._run("Allgatherv", sendbuf, recvbuf)

    def Alltoallv(self, sendbuf: Any, recvbuf: Any) -> None:
        if is_small(recvbuf, self._from_bytes["Alltoallv"]):
            return _MPI.Alltoallv(self, sendbuf, recvbuf)
        return self._run("Alltoallv", sendbuf, recvbuf)

    def Reduce_scatter_block(self, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM) -> None:
        x = recvbuf if sendbuf is MPI.IN_PLACE else sendbuf
        least = self._from_bytes["Reduce_scatter_block"]
        if x.nbytes < least if type(x) is ndarray else is_small(x, least, self):
            return _MPI.Reduce_scatter_block(self, sendbuf, recvbuf, op)
        if self._at_once and op is MPI.SUM:
            try:
                x = sendbuf if type(sendbuf) is ndarray else at_least(sendbuf, least, self.size)
                out = recvbuf if type(recvbuf) is ndarray else array_of(recvbuf)
                return self._at_once["Reduce_scatter_block"]("auto", None, None, x, out, "sum")
            except NOT_OURS:
                pass
        return self._run("Reduce_scatter_block", sendbuf, recvbuf, op)

    def Reduce_scatter(self, sendbuf: Any, recvbuf: Any, recvcounts: Any = None, op: MPI.Op = MPI.SUM) -> None:
        least = self._from_bytes["Reduce_scatter"]
        x = recvbuf if sendbuf is MPI.IN_PLACE else sendbuf
        if x.nbytes < least if type(x) is ndarray else is_small(x, least):
            return _MPI.Reduce_scatter(self, sendbuf, recvbuf, recvcounts, op)
        if self._at_once and op is MPI.SUM and type(recvcounts) is list:
            try:
                x = sendbuf if type(sendbuf) is ndarray else at_least(sendbuf, least)
                out = recvbuf if type(recvbuf) is ndarray else array_of(recvbuf)
                return self._at_once["Reduce_scatter"]("auto", None, None, x, out, recvcounts, "sum")
            except NOT_OURS:
                pass
        return self._run("Reduce_scatter", sendbuf, recvbuf, recvcounts, op)

    def _run(self, name: str, *args: Any) -> None:
        """A collective by the team, or by MPI."""
        call = self._call(name, args, {})
        if call is None:
            return _OTHERWISE[name](self, *args)
        try:
            call.run(self.team)
        except NOT_OURS:
            return _OTHERWISE[name](self, *args)
        if self.team.backend == "cuda":
            self.team.synchronize(current_stream())
        return None

    def _call(self, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> calls.Call | None:
        """The call, where the team does it."""
        try:
            call: calls.Call = getattr(calls, name)(self, *args, **named)
        except NOT_OURS:
            return None
        on_gpu = not isinstance(call.message, ndarray)
        if not on_gpu and call.message.nbytes < self._from_bytes[name]:
            return None
        try:
            return call if self._has_team and on_gpu == (self.team.backend == "cuda") else None
        except Unsupported as reason:
            warnings.warn(f"{reason}; until then its calls go by MPI", stacklevel=4)
            self._has_team = False
            return None


def _predefined(name: str) -> Any:
    return getattr(MPI, name)


class Cartcomm(Comm, MPI.Cartcomm):
    """What ``Create_cart`` and ``Sub`` make."""


class Graphcomm(Comm, MPI.Graphcomm):
    """What ``Create_graph`` makes."""


class Distgraphcomm(Comm, MPI.Distgraphcomm):
    """What ``Create_dist_graph`` and ``Create_dist_graph_adjacent`` make."""


class Message(MPI.Message):
    """What ``Mprobe`` and ``Improbe`` find."""


_KINDS = {_MPI: Comm} | {kind.__bases__[-1]: kind for kind in (Cartcomm, Graphcomm, Distgraphcomm, Message)}
_MAKERS = (
    "Split", "Split_type", "Create", "Create_group", "Create_cart", "Create_graph", "Create_dist_graph",
    "Create_dist_graph_adjacent", "Sub", "Mprobe", "Improbe",
)  # fmt: skip


def _making_ours(plain: Callable[..., Any]) -> Callable[..., Any]:
    """A method whose result is an object of the class of this file, or null."""

    @wraps(plain)
    def method(self: Any, *args: Any, **named: Any) -> Any:
        made = plain(self, *args, **named)
        return _KINDS[type(made)](made) if made else made

    return method


def _own_methods(base: Any) -> dict[str, Callable[..., Any]]:
    """The methods of a class of mpi4py's that it does not inherit from MPI.Intracomm."""
    inherited = object if base is _MPI else _MPI
    found = {name: getattr(base, name) for name in dir(base) if name[0].isupper()}
    return {
        name: method
        for name, method in found.items()
        if callable(method) and method is not getattr(inherited, name, None)
    }


_OTHERWISE = {name: getattr(_MPI, name) for name in FROM_BYTES}
for _base, _kind in _KINDS.items():
    _own = _own_methods(_base)
    _methods = {name: _making_ours(_own[name]) for name in _MAKERS if name in _own}
    if find_spec("cupy"):  # else no array lies on a GPU
        _methods |= for_gpus(_own, FROM_BYTES)
    for _name, _method in _methods.items():
        if _name in FROM_BYTES:
            _OTHERWISE[_name] = _method
        else:
            setattr(_kind, _name, _method)
