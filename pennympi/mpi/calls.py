"""The collectives of mpi4py that a team can do: their arguments, read as mpi4py reads them, and the call of the team.

Each function takes a communicator and the arguments of mpi4py's method of the same name.  It raises NOT_OURS, or the
team does before it sends anything, where MPI must do the call or say what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

from ..arrays.dtypes import dtype_of
from ..arrays.operators import reduction
from ..team import Team
from .message import array_of, check, is_in_place, parts_of


class Call(NamedTuple):
    """A collective that the team can do.

    message: an array of as many bytes on every rank;  run(team): enqueues it
    """

    message: Any
    run: Callable[[Team], Any]


def Bcast(comm: MPI.Intracomm, buf: Any, root: int = 0) -> Call:
    x = array_of(buf, writable=comm.rank != root)
    return Call(x, lambda team: team.broadcast(x, root))


def Allreduce(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM) -> Call:
    out = array_of(recvbuf, writable=True)
    x, name = out if is_in_place(sendbuf) else array_of(sendbuf), _reduction(op, out)
    return Call(out, lambda team: team.allreduce(x, out, name))


def Reduce(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM, root: int = 0) -> Call:
    out = array_of(recvbuf, writable=True) if comm.rank == root else None
    x = out if out is not None and is_in_place(sendbuf) else array_of(sendbuf)
    name = _reduction(op, x)
    return Call(x, lambda team: team.reduce(x, out, name, root))


def Allgather(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any) -> Call:
    x, out = _bytes(comm, sendbuf, recvbuf, 1)
    return Call(out, lambda team: team.all_gather(x, out))


def Alltoall(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any) -> Call:
    x, out = _bytes(comm, sendbuf, recvbuf, comm.size)
    return Call(out, lambda team: team.all_to_all(x, out))


def Allgatherv(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any) -> Call:
    out, counts, starts = parts_of(recvbuf, comm.size, writable=True)
    x: Any = MPI.IN_PLACE if is_in_place(sendbuf) else array_of(sendbuf)
    return Call(out[: sum(counts)], lambda team: team.all_gatherv(x, out, counts, starts))


def Alltoallv(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any) -> Call:
    """Ranks can't know the size of the message alike: it is 0."""
    out = parts_of(recvbuf, comm.size, writable=True)
    x: Any = (MPI.IN_PLACE, None, None) if is_in_place(sendbuf) else parts_of(sendbuf, comm.size)
    return Call(
        out.array[:0],
        lambda team: team.all_to_allv(x[0], out.array, x[1], out.counts, x[2], out.starts),
    )


def Reduce_scatter_block(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM) -> Call:
    in_place = is_in_place(sendbuf)
    x = array_of(recvbuf if in_place else sendbuf, comm.size, writable=in_place)
    return _to_part(Team.reduce_scatter, x, x.size // comm.size, None if in_place else recvbuf, op)


def Reduce_scatter(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any, recvcounts: Any, op: MPI.Op = MPI.SUM) -> Call:
    in_place = is_in_place(sendbuf)
    x, counts = array_of(recvbuf if in_place else sendbuf, writable=in_place), [int(one) for one in recvcounts]
    check(len(counts) == comm.size)
    reduce_to = lambda team, x, out, name: team.reduce_scatterv(x, out, counts, name)  # noqa: E731
    return _to_part(reduce_to, x, counts[comm.rank], None if in_place else recvbuf, op)


def _to_part(reduce_to: Callable[..., Any], x: Any, n: int, recvbuf: Any, op: MPI.Op) -> Call:
    """The result, n elements, in recvbuf.  None: at the start of x, where the team has it in the middle."""
    out = np.empty_like(x, shape=n) if recvbuf is None else array_of(recvbuf, writable=True)
    name = _reduction(op, x)

    def run(team: Team) -> None:
        reduce_to(team, x, out, name)
        if recvbuf is None:
            x[:n] = out

    return Call(x, run)


def _bytes(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any, n_sent: int) -> tuple[Any, Any]:
    """What is sent, ``n_sent`` parts, and what is received, a part from each rank."""
    out = array_of(recvbuf, comm.size, writable=True)
    if is_in_place(sendbuf):
        return MPI.IN_PLACE, out
    x = array_of(sendbuf, n_sent)
    return (x, out) if x.dtype == out.dtype else (x.view("uint8"), out.view("uint8"))


def _reduction(op: MPI.Op, x: Any) -> Any:
    """The name of a reduction of x.  MPI has fewer for bool."""
    check(isinstance(op, MPI.Op) and (x.dtype != bool or op in (MPI.LAND, MPI.LOR)))
    return reduction(op, dtype_of(x.dtype))[0]


def at_once(team: Team) -> dict[str, Callable[..., None]]:
    """By mpi4py's method, the call of a team on the host, with arrays of NumPy: (algorithm, stream, sms, *arguments)."""
    if team.backend != "host":
        return {}
    return {
        "Bcast": team._broadcast.run_eager,
        "Allreduce": team._sums["any"].run_eager,
        "Reduce": team._reduce.run_eager,
        "Allgather": team._all_gather.run_eager,
        "Alltoall": team._all_to_all.run_eager,
        "Allgatherv": team._all_gatherv.run_eager,
        "Reduce_scatter_block": team._reduce_scatter.run_eager,
        "Reduce_scatter": team._reduce_scatterv.run_eager,
    }
