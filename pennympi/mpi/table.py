"""The collectives of mpi4py that a team can run, and what decides whether it does.

**Only what MPI makes the same on every rank decides: the bytes of the message, the op, the type of the numbers that are
reduced, the root, and the agreement of the communicator's ranks.**  Data that are only moved are moved as bytes, for
ranks may describe them by different datatypes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI
from numpy import ndarray

from ..arrays.dtypes import dtype_of
from ..arrays.operators import name_of
from ..team import Team
from .flat import BYTES, Flat
from .message import (
    ELEMENTS,
    LeftToMPI,
    Message,
    bytes_of,
    bytes_of_parts,
    is_in_place,
    message_of,
    numbers,
    parts_of,
)

IN_PLACE, SUM = MPI.IN_PLACE, MPI.SUM
NEVER = 1 << 62
Run = Callable[[Team, Flat], Any]


class Row(NamedTuple):
    """A row of the table.

    from_bytes: size from which on a team was faster, with NumPy's arrays at two ranks of a node with MPICH 5.0
    sized:      index of the argument whose bytes decide; the receive buffer decides in place of MPI.IN_PLACE
    size:       function of the argument and the number of its parts, which returns those bytes.  Raises LeftToMPI
    in_parts:   True if that argument has a part for each rank
    read:       function of the communicator and mpi4py's arguments, which returns the team's call.  Raises LeftToMPI
    by_plain:   short cut: makes the call and returns True, if a team on CPUs takes all arrays as they are; a function of
                the team and mpi4py's arguments
    """

    from_bytes: int
    sized: int
    size: Callable[[Any, int], int]
    in_parts: bool
    read: Callable[..., Run]
    by_plain: Callable[..., bool] = lambda *args: False


# The team's calls ----------------------------------------------------------------------
def _bcast(comm: MPI.Intracomm, buf: Any, root: Any) -> Run:
    x, sends = message_of(buf), comm.rank == _checked(root, comm)
    return lambda team, flat: team.broadcast(flat.source(x) if sends else flat.result(x), root)


def _allreduce(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any, op: MPI.Op) -> Run:
    x, out = _source(sendbuf), message_of(recvbuf)
    _check_alike(x or out, out, out.n_elems)
    name, dtype = _reduction(op, out)
    return lambda team, flat: team.allreduce(*flat.pair(x, out, dtype), name)


def _reduce(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any, op: MPI.Op, root: Any) -> Run:
    out = message_of(recvbuf) if comm.rank == _checked(root, comm) else None
    x = None if out and is_in_place(sendbuf) else message_of(sendbuf)
    known: Any = x or out
    _check_alike(known, out or known, known.n_elems)
    name, dtype = _reduction(op, known)

    def run(team: Team, flat: Flat) -> None:
        arrays: tuple[Any, Any] = flat.pair(x, out, dtype) if out else (flat.source(known, dtype), None)
        team.reduce(*arrays, name, root)

    return run


def _allgather(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any) -> Run:
    x, out = _source(sendbuf), message_of(recvbuf, comm.size)
    return lambda team, flat: team.all_gather(*flat.pair(x, out))


def _alltoall(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any) -> Run:
    x, out = _source(sendbuf, comm.size), message_of(recvbuf, comm.size)
    return lambda team, flat: team.all_to_all(*flat.pair(x, out))


def _allgatherv(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any) -> Run:
    x, out = _source(sendbuf), parts_of(recvbuf, comm.size)
    return lambda team, flat: team.all_gatherv(*flat.pair(x, out), out.part_bytes, out.part_starts)


def _alltoallv(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any) -> Run:
    x, out = None if is_in_place(sendbuf) else parts_of(sendbuf, comm.size), parts_of(recvbuf, comm.size)
    sent = (x.part_bytes, x.part_starts) if x else (None, None)
    return lambda team, flat: team.all_to_allv(*flat.pair(x, out), sent[0], out.part_bytes, sent[1], out.part_starts)


def _reduce_scatter_block(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any, op: MPI.Op) -> Run:
    in_place = is_in_place(sendbuf)
    x = message_of(recvbuf if in_place else sendbuf, comm.size)
    out = None if in_place else message_of(recvbuf)
    _check_alike(x, out or x, x.n_elems // comm.size if out else x.n_elems)
    return _to_part(x, out, op, lambda team, name, x, part: team.reduce_scatter(x, part(x.size // comm.size), name))


def _reduce_scatter(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any, recvcounts: Any, op: MPI.Op) -> Run:
    """If all ranks leave the counts out, the ranks gather them, as mpi4py does."""
    in_place = is_in_place(sendbuf)
    x = message_of(recvbuf if in_place else sendbuf)
    out = None if in_place else message_of(recvbuf)
    counts = None if recvcounts is None and out else numbers(recvcounts, comm.size)
    if counts:
        _check_alike(x, x, sum(counts))
        _check_alike(x, out or x, counts[comm.rank] if out else x.n_elems)

    def reduce_to(team: Team, name: Any, x: Any, part: Callable[[int], Any]) -> Any:
        rank_counts = counts or comm.allgather(out and out.n_elems)
        numbers_per_count = x.size // max(1, sum(rank_counts))
        rank_numbers = [count * numbers_per_count for count in rank_counts]
        return team.reduce_scatterv(x, part(rank_numbers[comm.rank]), rank_numbers, name)

    return _to_part(x, out, op, reduce_to)


def _to_part(x: Message, out: Message | None, op: MPI.Op, reduce_to: Callable[..., Any]) -> Run:
    """A reduction into ``out``; None: to the start of x, as MPI has it in place, where a team would write the middle.

    reduce_to: function of the team, the op's name, the array of x, and a function that makes the array of the result from
               its number of elements; returns that array
    """
    name, dtype = _reduction(op, x)

    def run(team: Team, flat: Flat) -> None:
        if out is not None:
            reduce_to(team, name, flat.source(x, dtype), lambda n: flat.result(out, dtype))
            return
        array = flat.updated(x, dtype)
        part = reduce_to(team, name, array, lambda n: np.empty_like(array, shape=n))
        array[: part.size] = part

    return run


def _source(sendbuf: Any, n_parts: int = 1) -> Message | None:
    """The message of a source; None if the call is in place."""
    return None if is_in_place(sendbuf) else message_of(sendbuf, n_parts)


def _reduction(op: Any, x: Message) -> tuple[Any, np.dtype]:
    """The op's name and the numbers' dtype.  MPI has fewer ops for bool.  Raises LeftToMPI if a team has no such op."""
    dtype = x.element.dtype
    if dtype is None or not isinstance(op, MPI.Op) or (dtype.kind == "b" and op not in (MPI.LAND, MPI.LOR)):
        raise LeftToMPI
    known = dtype_of(dtype)
    name = name_of(op, known)
    if name not in known.reductions:
        raise LeftToMPI
    return name, dtype


def _check_alike(x: Message, out: Message, n_elems: int) -> None:
    """Raise LeftToMPI unless ``out`` has the size of ``n_elems`` elements of x, and numbers of the same type."""
    if out.n_bytes != n_elems * x.element.size or x.element.dtype != out.element.dtype:
        raise LeftToMPI


def _checked(root: Any, comm: MPI.Intracomm) -> int:
    """The root.  Raises LeftToMPI."""
    if not isinstance(root, int) or not 0 <= root < comm.size:
        raise LeftToMPI
    return root


# Short cuts for NumPy's arrays ----------------------------------------------------------
def _bcast_plain(team: Team, buf: Any, root: Any) -> bool:
    if type(buf) is not ndarray or not buf.flags.carray or not buf.ndim:  # an array without dimensions has no view
        return False
    if type(root) is not int or not 0 <= root < team.n_pes:
        return False
    team.broadcast(buf.view(BYTES), root)
    return True


def _moved(name: str) -> Callable[..., bool]:
    def plain(team: Team, sendbuf: Any, recvbuf: Any) -> bool:
        if type(sendbuf) is not ndarray or not sendbuf.flags.carray or not sendbuf.ndim:
            return False
        if type(recvbuf) is not ndarray or not recvbuf.flags.carray or not recvbuf.ndim:
            return False
        getattr(team, name)(sendbuf.view(BYTES), recvbuf.view(BYTES))
        return True

    return plain


def _summed(name: str) -> Callable[..., bool]:
    def plain(team: Team, sendbuf: Any, recvbuf: Any, op: Any, root: Any = 0) -> bool:
        x, out = (recvbuf, None) if sendbuf is IN_PLACE and name == "allreduce" else (sendbuf, recvbuf)
        if op is not SUM or type(x) is not ndarray or x.dtype not in _NUMBERS or not x.flags.carray or root:
            return False
        if out is not None and (type(out) is not ndarray or x.dtype is not out.dtype or not out.flags.carray):
            return False
        getattr(team, name)(x, out)
        return True

    return plain


_NUMBERS = ELEMENTS.keys() - {np.dtype("bool")}


def _unknown(spec: Any, n_parts: int) -> int:
    """0, since only two ranks know the size of a part."""
    return 0


TABLE = {
    "Bcast": Row(1 << 13, 0, bytes_of, False, _bcast, _bcast_plain),
    "Allreduce": Row(1 << 6, 1, bytes_of, False, _allreduce, _summed("allreduce")),
    "Reduce": Row(1 << 12, 0, bytes_of, False, _reduce, _summed("reduce")),
    "Allgather": Row(1 << 14, 1, bytes_of, True, _allgather, _moved("all_gather")),
    "Alltoall": Row(1 << 14, 1, bytes_of, True, _alltoall, _moved("all_to_all")),
    "Reduce_scatter_block": Row(1 << 14, 0, bytes_of, True, _reduce_scatter_block, _summed("reduce_scatter")),
    "Allgatherv": Row(1 << 14, 1, bytes_of_parts, True, _allgatherv),
    "Reduce_scatter": Row(1 << 14, 0, bytes_of, False, _reduce_scatter),
    "Alltoallv": Row(NEVER, 1, _unknown, True, _alltoallv),
}
