"""The collectives of mpi4py that a team can do: their arguments, checked, and the call of the team.

Each function takes a communicator and the arguments of mpi4py's method of the same name.  It raises NotOurs where the
call is not the team's: MPI then does it, or raises what it raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from mpi4py import MPI

from ..arrays.operators import reduction
from ..team import Team
from .message import Message, NotOurs, message_of, parts_of


class Call(NamedTuple):
    """A collective that the team can do.

    nbytes: of the message, alike on all ranks;  device: whether it lies on GPUs;  run(team): enqueues it
    """

    nbytes: int
    device: bool
    run: Callable[[Team], Any]


def is_in_place(buffer: Any) -> bool:
    """mpi4py takes None for MPI.IN_PLACE."""
    return buffer is None or isinstance(buffer, MPI.InPlaceType)


def bcast(comm: MPI.Intracomm, buf: Any, root: int = 0) -> Call:
    x = message_of(buf, writable=comm.rank != root)
    check(0 <= root < comm.size)
    return Call(x.array.nbytes, x.device, lambda team: team.broadcast(x.array, root))


def allreduce(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM) -> Call:
    out = message_of(recvbuf, writable=True)
    x = out if is_in_place(sendbuf) else message_of(sendbuf)
    check_reduced(x, out, out.n, op)
    return Call(out.array.nbytes, out.device, lambda team: team.allreduce(x.array, out.array, op))


def reduce(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM, root: int = 0) -> Call:
    is_root = comm.rank == root
    x = message_of(recvbuf if is_root and is_in_place(sendbuf) else sendbuf)
    out = message_of(recvbuf, writable=True) if is_root else x
    check_reduced(x, out, out.n, op)
    check(0 <= root < comm.size)
    to = out.array if is_root else None
    return Call(x.array.nbytes, x.device, lambda team: team.reduce(x.array, to, op, root))


def allgather(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any) -> Call:
    out = message_of(recvbuf, comm.size, writable=True)
    in_place = is_in_place(sendbuf)
    x = out if in_place else message_of(sendbuf)
    check(in_place or x.array.nbytes * comm.size == out.array.nbytes and x.device == out.device)
    given = MPI.IN_PLACE if in_place else x.moved
    return Call(out.array.nbytes, out.device, lambda team: team.all_gather(given, out.moved))


def alltoall(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any) -> Call:
    out = message_of(recvbuf, comm.size, writable=True)
    in_place = is_in_place(sendbuf)
    x = out if in_place else message_of(sendbuf, comm.size)
    check(x.array.nbytes == out.array.nbytes and x.device == out.device)
    given = MPI.IN_PLACE if in_place else x.moved
    return Call(out.array.nbytes, out.device, lambda team: team.all_to_all(given, out.moved))


def reduce_scatter_block(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM) -> Call:
    """In place, MPI has the result at the start of the buffer, the team in the middle."""
    in_place = is_in_place(sendbuf)
    x = message_of(recvbuf if in_place else sendbuf, comm.size, writable=in_place)
    n = x.n // comm.size
    out = x.like(n) if in_place else message_of(recvbuf, writable=True)
    check_reduced(x, out, n, op)

    def run(team: Team) -> None:
        team.reduce_scatter(x.array, out.array, op)
        if in_place:
            x.array[:n] = out.array

    return Call(x.array.nbytes, x.device, run)


def reduce_scatter(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any, recvcounts: Any = None, op: MPI.Op = MPI.SUM) -> Call:
    in_place = is_in_place(sendbuf)
    check(recvcounts is not None)
    x = message_of(recvbuf if in_place else sendbuf, writable=in_place)
    counts = [int(one) for one in recvcounts]
    check(len(counts) == comm.size and sum(counts) == x.n)
    n = counts[comm.rank]
    out = x.like(n) if in_place else message_of(recvbuf, writable=True)
    check_reduced(x, out, n, op)

    def run(team: Team) -> None:
        team.reduce_scatterv(x.array, out.array, counts, op)
        if in_place:
            x.array[:n] = out.array

    return Call(x.array.nbytes, x.device, run)


def allgatherv(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any) -> Call:
    whole, counts, starts = parts_of(recvbuf, comm.size, writable=True)
    in_place = is_in_place(sendbuf)
    x = whole if in_place else message_of(sendbuf)
    check(in_place or x.n == counts[comm.rank] and x.dtype is whole.dtype and x.device == whole.device)
    given = MPI.IN_PLACE if in_place else x.array
    nbytes = sum(counts) * whole.dtype.item_bytes
    return Call(nbytes, whole.device, lambda team: team.all_gatherv(given, whole.array, counts, starts))


def alltoallv(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any) -> Call:
    """Ranks can't know the size of the message alike: its nbytes is 0."""
    out = parts_of(recvbuf, comm.size, writable=True)
    x = out if is_in_place(sendbuf) else parts_of(sendbuf, comm.size)
    check(x.message.dtype is out.message.dtype and x.message.device == out.message.device)
    sent = (MPI.IN_PLACE, None, None) if x is out else (x.message.array, x.counts, x.starts)

    def run(team: Team) -> None:
        team.all_to_allv(sent[0], out.message.array, sent[1], out.counts, sent[2], out.starts)

    return Call(0, out.message.device, run)


def check(holds: bool) -> None:
    """Raises NotOurs if not."""
    if not holds:
        raise NotOurs


def check_reduced(x: Message, out: Message, n: int, op: Any) -> None:
    """Raises NotOurs where the team does not reduce x to n elements of out, or MPI means something else by it."""
    check(out.n == n and x.dtype is out.dtype and x.device == out.device and isinstance(op, MPI.Op))
    check(x.dtype.kind != "?" or op in (MPI.LAND, MPI.LOR))
    try:
        reduction(op, x.dtype)
    except ValueError:
        raise NotOurs from None


PREPARE: dict[str, Callable[..., Call]] = {
    "Bcast": bcast, "Allreduce": allreduce, "Reduce": reduce, "Allgather": allgather, "Alltoall": alltoall,
    "Reduce_scatter_block": reduce_scatter_block, "Allgatherv": allgatherv, "Alltoallv": alltoallv,
    "Reduce_scatter": reduce_scatter,
}  # fmt: skip
