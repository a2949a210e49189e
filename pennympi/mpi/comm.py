"""``Comm``: mpi4py's communicator, whose collectives run on a team where that is faster, or where MPI can't.

Arrays of the host go by the team from a size on, by MPI below it.  The size of a message is the same on every rank, so
all ranks decide alike.  Arrays on GPUs always go by the team, or through memory of the host where it has no such method.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import cache, wraps
from importlib.util import find_spec
from mmap import mmap
from typing import Any

import numpy as np
from mpi4py import MPI

from ..settings import setting
from ..start import init
from ..team import Team
from .message import NotOurs, any_on_device, current_stream
from .prepared import PREPARE, Call
from .requests import Persistent, begin
from .staged import REFUSED, WRITTEN, refused, staged

NEVER = 1 << 62
# Sizes from which a team was faster at two ranks of one node with MPICH 5.0.  Ranks can't know an Alltoallv's size alike.
FROM_BYTES = {
    "Bcast": 1 << 16, "Allreduce": 1 << 15, "Reduce": 1 << 14, "Allgather": 1 << 19, "Alltoall": 1 << 20,
    "Reduce_scatter_block": 1 << 19, "Allgatherv": 1 << 19, "Reduce_scatter": 1 << 21, "Alltoallv": NEVER,
}  # fmt: skip


_SIZED = {np.ndarray, memoryview, MPI.buffer}  # of the host, with nbytes
_HOST = _SIZED | {bytearray, bytes, array, mmap}


@cache
def from_bytes(name: str) -> int:
    """FROM_BYTES, or the setting."""
    given: int | None = setting("PENNYMPI_COMM_FROM_BYTES")
    return FROM_BYTES[name] if given is None else given


class Comm(MPI.Intracomm):
    """An mpi4py intra-communicator; ``Comm(MPI.COMM_WORLD)`` shares its ranks and its context.

    All methods are mpi4py's, with its arguments and errors.  Allreduce, Reduce, Bcast, Allgather, Alltoall,
    Reduce_scatter_block, Allgatherv, Reduce_scatter and Alltoallv may run on a team, which the first such call makes;
    those of arrays on GPUs also as I... and ..._init.  A blocking call returns when its result is there.
    On GPUs all ranks of a call pass arrays on GPUs.  ``Free``, or the end of the program, gives the team back.
    Raises what mpi4py raises, and what ``Team`` raises: PeerTimeout, CollectiveMismatchError, Unsupported.
    """

    _team: Team | None = None

    @property
    def team(self) -> Team:
        """The team of these ranks; the first use makes it, which is collective."""
        if self._team is None:
            self._team = init(MPI.Intracomm(self))
        return self._team

    def Free(self) -> None:
        """Give the team and the communicator back.  Collective."""
        if self._team is not None:
            self._team.finalize()
        super().Free()

    def __reduce__(self) -> Any:
        """Where a program has made this its MPI.COMM_WORLD or MPI.COMM_SELF, it is pickled by that name."""
        named = (name for name in ("COMM_WORLD", "COMM_SELF") if self is getattr(MPI, name))
        return next(((_predefined, (name,)) for name in named), None) or super().__reduce__()

    def Split(self, color: int = 0, key: int = 0) -> Comm:
        """See ``MPI.Comm.Split``."""
        return _comm(super().Split(color, key))

    def Split_type(self, split_type: int, key: int = 0, info: MPI.Info = MPI.INFO_NULL) -> Comm:
        """See ``MPI.Comm.Split_type``."""
        return _comm(super().Split_type(split_type, key, info))

    def Create(self, group: MPI.Group) -> Comm:
        """See ``MPI.Comm.Create``."""
        return _comm(super().Create(group))

    def Create_group(self, group: MPI.Group, tag: int = 0) -> Comm:
        """See ``MPI.Intracomm.Create_group``."""
        return _comm(super().Create_group(group, tag))

    def _prepared(self, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> Call | None:
        """The call, where the team does it."""
        try:
            call = PREPARE[name](self, *args, **named)
        except (NotOurs, TypeError):  # MPI's own method says what is wrong
            return None
        if not (call.device or call.nbytes >= from_bytes(name)):
            return None
        return call if call.device == (self.team.backend == "cuda") else None


def _predefined(name: str) -> Any:
    return getattr(MPI, name)


def _comm(comm: MPI.Comm) -> Any:
    return comm if comm == MPI.COMM_NULL else Comm(comm)


def _is_small(buffer: Any, least: int, n_parts: int) -> bool:
    """Whether a message is certainly of the host and smaller: the common case, in as few steps as possible."""
    if type(buffer) in (list, tuple) and buffer:
        if len(buffer) == 3 and type(buffer[1]) is int and type(buffer[2]) is MPI.Datatype:
            return type(buffer[0]) in _HOST and buffer[1] * buffer[2].size * n_parts < least
        buffer = buffer[0]
    return type(buffer) in _SIZED and buffer.nbytes < least


def _blocking(name: str) -> Callable[..., Any]:
    plain, place, otherwise = getattr(MPI.Intracomm, name), WRITTEN[name][0], staged(name)
    has_parts = name in ("Allgather", "Alltoall")

    @wraps(plain)
    def method(self: Comm, *args: Any, **named: Any) -> Any:
        if len(args) > place and _is_small(args[place], from_bytes(name), self.size if has_parts else 1):
            return plain(self, *args, **named)
        call = self._prepared(name, args, named)
        if call is None:
            return otherwise(self, *args, **named)
        call.run(self.team)
        if call.device:
            self.team.synchronize(current_stream())
        return None

    return method


def _on_gpu(name: str, plain_name: str, run: Callable[[Team, Call], Any]) -> Callable[..., Any]:
    """A non-blocking or persistent collective: the team's for arrays on GPUs, else MPI's."""
    otherwise = refused(plain_name)

    @wraps(otherwise)
    def method(self: Comm, *args: Any, **named: Any) -> Any:
        call = self._prepared(name, args, named) if any_on_device(args, named) else None
        return otherwise(self, *args, **named) if call is None else run(self.team, call)

    return method


for _name in PREPARE:
    setattr(Comm, _name, _blocking(_name))
if find_spec("cupy"):  # else no array lies on a GPU
    for _name in PREPARE:
        setattr(Comm, f"I{_name.lower()}", _on_gpu(_name, f"I{_name.lower()}", begin))
        setattr(Comm, f"{_name}_init", _on_gpu(_name, f"{_name}_init", Persistent))
    for _name in WRITTEN.keys() - PREPARE.keys():
        setattr(Comm, _name, staged(_name))
    for _name in REFUSED:
        if hasattr(MPI.Intracomm, _name):  # which depends on mpi4py's version
            setattr(Comm, _name, refused(_name))
