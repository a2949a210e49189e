"""The collectives of mpi4py that a team can do: what decides whether it does, and its call.

**Only what MPI makes the same on every rank decides: the bytes of the message, the op, the type of the numbers that are
reduced, the root, and what the communicator's ranks have agreed on.**  Data that are only moved are moved as bytes, for
ranks may describe them by different datatypes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

from ..arrays.dtypes import dtype_of
from ..arrays.operators import name_of
from ..collectives.by_size import AllGather, AllToAll, Broadcast, BySize
from ..collectives.kinds import BYTE, Addresses, Kind
from ..team import Team
from .flat import Flat
from .message import Message, NotRead, is_in_place, message_of, numbers, parts_of


class Call(NamedTuple):
    """n_bytes: of the message, on every rank;  run: enqueues it on a team; None: a team has no such reduction"""

    n_bytes: int
    run: Callable[[Team, Flat], Any] | None


class Collective(NamedTuple):
    """A row of the table.

    read: takes the communicator and the arguments of mpi4py's method.  Raises NotRead
    from_bytes: from this size on Comm was faster by a team, of NumPy's arrays at two ranks of a node with MPICH 5.0
    in_parts:   a count in the message is of one rank's part
    by_receive: the receive buffer is the message; else the send buffer, unless that is MPI.IN_PLACE
    """

    read: Callable[..., Call]
    from_bytes: int
    in_parts: bool = False
    by_receive: bool = True


def _bcast(comm: MPI.Intracomm, buf: Any, root: int = 0) -> Call:
    x, sends = message_of(buf), comm.rank == _checked(root, comm)
    return Call(x.n_bytes, lambda team, flat: team.broadcast(flat.source(x) if sends else flat.result(x), root))


def _allreduce(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM) -> Call:
    out = message_of(recvbuf)
    x = out if is_in_place(sendbuf) else _alike(message_of(sendbuf), out)
    name, dtype = _reduction(op, out)

    def run(team: Team, flat: Flat) -> None:
        if x is out:
            team.allreduce(flat.both(out, dtype), None, name)
        else:
            team.allreduce(flat.source(x, dtype), flat.result(out, dtype), name)

    return Call(out.n_bytes, run if name else None)


def _reduce(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM, root: int = 0) -> Call:
    out = message_of(recvbuf) if comm.rank == _checked(root, comm) else None
    x = out if out and is_in_place(sendbuf) else message_of(sendbuf)
    name, dtype = _reduction(op, x if out is None else _alike(x, out))

    def run(team: Team, flat: Flat) -> None:
        if x is out:
            team.reduce(flat.both(x, dtype), None, name, root)
        else:
            team.reduce(flat.source(x, dtype), out and flat.result(out, dtype), name, root)

    return Call(x.n_bytes, run if name else None)


def _allgather(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any) -> Call:
    out = message_of(recvbuf, comm.size)
    x = None if is_in_place(sendbuf) else message_of(sendbuf)

    def run(team: Team, flat: Flat) -> None:
        if x is None:
            team.all_gather(MPI.IN_PLACE, flat.both(out))
        else:
            team.all_gather(flat.source(x), flat.result(out))

    return Call(out.n_bytes, run)


def _alltoall(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any) -> Call:
    out = message_of(recvbuf, comm.size)
    x = None if is_in_place(sendbuf) else message_of(sendbuf, comm.size)

    def run(team: Team, flat: Flat) -> None:
        if x is None:
            team.all_to_all(flat.both(out))
        else:
            team.all_to_all(flat.source(x), flat.result(out))

    return Call(out.n_bytes, run)


def _allgatherv(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any) -> Call:
    out = parts_of(recvbuf, comm.size)
    x = None if is_in_place(sendbuf) else message_of(sendbuf)

    def run(team: Team, flat: Flat) -> None:
        array, counts, starts = flat.parts(out, x is None, True)
        team.all_gatherv(flat.source(x) if x else MPI.IN_PLACE, array, counts, starts)

    return Call(out.n_bytes, run)


def _alltoallv(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any) -> Call:
    """Each pair of ranks alone knows the size of its parts, so no size decides."""
    out = parts_of(recvbuf, comm.size)
    x = None if is_in_place(sendbuf) else parts_of(sendbuf, comm.size)

    def run(team: Team, flat: Flat) -> None:
        array, counts, starts = flat.parts(out, x is None, True)
        sent, sent_counts, sent_starts = flat.parts(x, True, False) if x else (MPI.IN_PLACE, None, None)
        team.all_to_allv(sent, array, sent_counts, counts, sent_starts, starts)

    return Call(0, run)


def _reduce_scatter_block(comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM) -> Call:
    in_place = is_in_place(sendbuf)
    x = message_of(recvbuf if in_place else sendbuf, comm.size)
    out = None if in_place else _alike(message_of(recvbuf), x._replace(n_elems=x.n_elems // comm.size))
    return _to_part(x, out, op, lambda team, name, x, part: team.reduce_scatter(x, part(x.size // comm.size), name))


def _reduce_scatter(
    comm: MPI.Intracomm, sendbuf: Any, recvbuf: Any, recvcounts: Any = None, op: MPI.Op = MPI.SUM
) -> Call:
    """Without counts, which then all ranks leave out, they tell one another, as mpi4py does it."""
    in_place = is_in_place(sendbuf)
    x = message_of(recvbuf if in_place else sendbuf)
    out = None if in_place else message_of(recvbuf)
    counts = None if recvcounts is None and out else numbers(recvcounts, comm.size)
    if counts:
        _alike(x, x._replace(n_elems=sum(counts)))
        _alike(out or x, x._replace(n_elems=counts[comm.rank] if out else x.n_elems))

    def reduce_to(team: Team, name: Any, x: Any, part: Callable[[int], Any]) -> Any:
        rank_counts = counts or comm.allgather(out and out.n_elems)
        numbers_per_count = x.size // max(1, sum(rank_counts))
        rank_numbers = [count * numbers_per_count for count in rank_counts]
        return team.reduce_scatterv(x, part(rank_numbers[comm.rank]), rank_numbers, name)

    return _to_part(x, out, op, reduce_to)


def _to_part(x: Message, out: Message | None, op: MPI.Op, reduce_to: Callable[..., Any]) -> Call:
    """Into ``out``.  None: to the start of x, where the team has it in the middle.

    reduce_to: (team, name, array of x, what gives the array of the result for its number of elements); returns that array
    """
    name, dtype = _reduction(op, x)

    def run(team: Team, flat: Flat) -> None:
        if out is not None:
            reduce_to(team, name, flat.source(x, dtype), lambda n: flat.result(out, dtype))
            return
        array = flat.both(x, dtype).reshape(-1)
        part = reduce_to(team, name, array, lambda n: np.empty_like(array, shape=n))
        array[: part.size] = part

    return Call(x.n_bytes, run if name else None)


def _reduction(op: Any, x: Message) -> tuple[Any, Any]:
    """Its name, None where a team has none, and the dtype of the numbers.  MPI has fewer for bool."""
    dtype = x.element.dtype
    if dtype is None or not isinstance(op, MPI.Op) or (dtype.kind == "b" and op not in (MPI.LAND, MPI.LOR)):
        return None, None
    known = dtype_of(dtype)
    name = name_of(op, known)
    return (name, dtype) if name in known.reductions else (None, None)


def _alike(x: Message, out: Message) -> Message:
    """x.  Raises NotRead."""
    if x.n_bytes != out.n_bytes or x.element.dtype != out.element.dtype:
        raise NotRead
    return x


def _checked(root: Any, comm: MPI.Intracomm) -> int:
    """The root.  Raises NotRead."""
    if not isinstance(root, int) or not 0 <= root < comm.size:
        raise NotRead
    return root


NEVER = 1 << 62
TABLE = {
    "Bcast": Collective(_bcast, 1 << 13),
    "Allreduce": Collective(_allreduce, 1 << 6),
    "Reduce": Collective(_reduce, 1 << 12, by_receive=False),
    "Allgather": Collective(_allgather, 1 << 14, in_parts=True),
    "Alltoall": Collective(_alltoall, 1 << 14, in_parts=True),
    "Reduce_scatter_block": Collective(_reduce_scatter_block, 1 << 14, in_parts=True, by_receive=False),
    "Allgatherv": Collective(_allgatherv, 1 << 14, in_parts=True),
    "Reduce_scatter": Collective(_reduce_scatter, 1 << 14, by_receive=False),
    "Alltoallv": Collective(_alltoallv, NEVER, in_parts=True),
}


def at_once(team: Team) -> dict[str, Callable[..., None]]:
    """By name, the call of a team on CPUs with plain arrays (``is_plain``): (algorithm, stream, sms, *arguments)."""
    if team.backend != "host":
        return {}
    moved = {"Bcast": Broadcast, "Allgather": AllGather, "Alltoall": AllToAll}
    calls = {name: _of_bytes(kind)(team._context).run_eager for name, kind in moved.items()}
    return calls | {
        "Allreduce": team._sums["any"].run_eager,
        "Reduce": lambda *args: team._reduce.run_eager(*args, 0),
        "Reduce_scatter_block": team._reduce_scatter.run_eager,
    }


def _of_bytes(kind: type[BySize]) -> type[BySize]:
    """A collective whose calls are of bytes, whatever the elements, as the other calls of the table are."""

    class OfBytes(kind):  # type: ignore[misc,valid-type]
        def check(self, *args: Any) -> tuple[Addresses, Kind]:
            addresses, call = super().check(*args)
            return addresses, call._replace(n_elems=call.n_elems * call.dtype.item_bytes, dtype=BYTE)

    return OfBytes
