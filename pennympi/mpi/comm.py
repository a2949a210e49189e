"""``Comm``: mpi4py's communicator, whose collectives run on a team where that is faster, or where MPI can't.

Arrays of the host go by the team from a size on, by MPI below it, and by MPI where the team is on GPUs; where an array of
any rank lies on a GPU, by such a team, which takes copies of the others.  calls.py says what may decide.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib.util import find_spec
from typing import Any

from mpi4py import MPI
from numpy import ndarray

from ..errors import NotInitialized
from ..team import Team
from .attribute import Attribute, attribute_of
from .calls import TABLE, Call
from .flat import Flat
from .gpu import for_gpus
from .gpu_copies import current_stream
from .log import logged, noted
from .mailbox import cards_of_part
from .message import NotRead, is_on_gpu, is_plain, is_plain_pair, size_at_once, size_of_parts_at_once
from .point_to_point import PROBES, with_true_size

_MPI = MPI.Intracomm


class Comm(MPI.Intracomm):
    """An mpi4py intra-communicator; ``Comm(MPI.COMM_WORLD)`` shares its ranks and its context.

    All methods are mpi4py's, with its arguments and errors.  The collectives of ``calls.TABLE`` may run on a team, which
    the first such call makes; those of arrays on GPUs also as I... and ..._init.  A blocking call returns when its result
    is there.  The team belongs to the communicator: all that wrap it share it, and it ends with the communicator.
    Raises what mpi4py raises, and what ``Team`` raises: PeerTimeout, CollectiveMismatchError, Unsupported.
    """

    _agreed: Attribute | None = None

    @property
    def team(self) -> Team:
        """The team of these ranks; the first use makes it, which is collective.

        Raises NotInitialized once the communicator is freed, and as ``pennympi.init``.
        """
        if self == MPI.COMM_NULL:
            raise NotInitialized("this communicator is null: it was freed, or this rank is not in it")
        return self._agree().make_team(self)

    def Free(self) -> None:
        """Give the team and the communicator back.  Collective."""
        self._end_team()
        super().Free()

    def Disconnect(self) -> None:
        """Give the team and the communicator back.  Collective."""
        self._end_team()
        super().Disconnect()

    def Barrier(self) -> None:
        """Wait for all ranks.  Collective."""
        self._agree().introduce(self)
        super().Barrier()

    def __reduce__(self) -> Any:
        """Where a program has made this its MPI.COMM_WORLD or MPI.COMM_SELF, it is pickled by that name."""
        for name in ("COMM_WORLD", "COMM_SELF"):
            if self is getattr(MPI, name):
                return _predefined, (name,)
        return super().__reduce__()

    def _agree(self) -> Attribute:
        """What the ranks have agreed on."""
        if self._agreed is None:
            self._agreed = Attribute() if self == MPI.COMM_NULL else attribute_of(self)
        return self._agreed

    def _end_team(self) -> None:
        """Before MPI frees the communicator, which it may do later, inside another call."""
        if self != MPI.COMM_NULL:
            self._agree().end()

    def _run(self, name: str, *args: Any, **named: Any) -> None:
        """A collective by the team, or by MPI."""
        try:
            call = TABLE[name].read(self, *args, **named)
        except NotRead:
            return _OTHERWISE[name](self, *args, **named)
        team = self._team_for(name, call, (*args, *named.values()))
        if team is None:
            return _OTHERWISE[name](self, *args, **named)
        assert call.run is not None
        flat = Flat(team.backend == "cuda")
        call.run(team, flat)
        if team.backend == "cuda":
            team.synchronize(current_stream())
        flat.put_back()
        return None

    def _team_for(self, name: str, call: Call, args: tuple[Any, ...]) -> Team | None:
        """The team, where it does the call: on all ranks or on none."""
        agreed, on_gpu = self._agree(), None
        if call.n_bytes < agreed.from_bytes[name] and (agreed.left is None or agreed.count()):
            return None
        if call.run is None:
            return None
        if agreed.team is None:
            if agreed.left == 0:
                on_gpu = agreed.agree(self, any(map(is_on_gpu, args)))
            if not on_gpu and call.n_bytes < agreed.from_bytes[name]:
                return None
        team = agreed.team_or_none(self)
        if team is not None and team.backend == "cuda":
            on_gpu = agreed.agree(self, any(map(is_on_gpu, args))) if on_gpu is None else on_gpu
            return team if on_gpu else None
        return team if call.n_bytes >= agreed.from_bytes[name] else None


# The methods of the table.  The first thing that they look at is the size of the message: a small one goes by MPI.
def _of_one_buffer(name: str, plain: Callable[..., None]) -> Callable[..., None]:
    def method(self: Comm, buf: Any, root: int = 0) -> None:
        agreed = self._agreed or self._agree()
        n_bytes = buf.nbytes if type(buf) is ndarray else size_at_once(buf, 1)
        if n_bytes < agreed.from_bytes[name] and (agreed.left is None or agreed.count()):
            return plain(self, buf, root)
        if name in agreed.at_once and is_plain(buf) and type(root) is int and 0 <= root < self.size:
            return agreed.at_once[name]("auto", None, None, buf, root)
        return self._run(name, buf, root)

    return method


def _of_two_buffers(name: str, plain: Callable[..., None]) -> Callable[..., None]:
    no_size = lambda spec, n_parts: 0  # noqa: E731  as calls.py has it
    size = {"Allgatherv": size_of_parts_at_once, "Alltoallv": no_size}.get(name, size_at_once)

    def method(self: Comm, sendbuf: Any, recvbuf: Any) -> None:
        agreed = self._agreed or self._agree()
        n_bytes = recvbuf.nbytes if type(recvbuf) is ndarray else size(recvbuf, self.size)
        if n_bytes < agreed.from_bytes[name] and (agreed.left is None or agreed.count()):
            return plain(self, sendbuf, recvbuf)
        if name in agreed.at_once and is_plain_pair(sendbuf, recvbuf):
            return agreed.at_once[name]("auto", None, None, sendbuf, recvbuf)
        return self._run(name, sendbuf, recvbuf)

    return method


def _of_a_reduction(name: str, plain: Callable[..., None]) -> Callable[..., None]:
    in_parts, by_receive = TABLE[name].in_parts, TABLE[name].by_receive

    def method(self: Comm, sendbuf: Any, recvbuf: Any, op: MPI.Op = MPI.SUM) -> None:
        agreed = self._agreed or self._agree()
        x = recvbuf if by_receive or sendbuf is MPI.IN_PLACE or sendbuf is None else sendbuf
        n_bytes = x.nbytes if type(x) is ndarray else size_at_once(x, self.size if in_parts else 1)
        if n_bytes < agreed.from_bytes[name] and (agreed.left is None or agreed.count()):
            return plain(self, sendbuf, recvbuf, op)
        if name in agreed.at_once and op is MPI.SUM and is_plain(recvbuf) and recvbuf.dtype.kind != "b":
            if is_plain_pair(sendbuf, recvbuf):
                return agreed.at_once[name]("auto", None, None, sendbuf, recvbuf, "sum")
            if sendbuf is MPI.IN_PLACE and by_receive:
                return agreed.at_once[name]("auto", None, None, recvbuf, None, "sum")
        return self._run(name, sendbuf, recvbuf, op)

    return method


def _of_another_reduction(name: str, plain: Callable[..., None]) -> Callable[..., None]:
    """With a root, or counts."""

    def method(self: Comm, sendbuf: Any, recvbuf: Any, *args: Any, **named: Any) -> None:
        agreed = self._agreed or self._agree()
        x = recvbuf if sendbuf is MPI.IN_PLACE or sendbuf is None else sendbuf
        n_bytes = x.nbytes if type(x) is ndarray else size_at_once(x, 1)
        if n_bytes < agreed.from_bytes[name] and (agreed.left is None or agreed.count()):
            return plain(self, sendbuf, recvbuf, *args, **named)
        if name in agreed.at_once and not args and not named:
            if is_plain_pair(sendbuf, recvbuf) and recvbuf.dtype.kind != "b":
                return agreed.at_once[name]("auto", None, None, sendbuf, recvbuf, "sum")
        return self._run(name, sendbuf, recvbuf, *args, **named)

    return method


def _predefined(name: str) -> Any:
    return getattr(MPI, name)


class Cartcomm(Comm, MPI.Cartcomm):
    """What ``Create_cart`` and ``Sub`` make."""


class Graphcomm(Comm, MPI.Graphcomm):
    """What ``Create_graph`` makes."""


class Distgraphcomm(Comm, MPI.Distgraphcomm):
    """What ``Create_dist_graph`` and ``Create_dist_graph_adjacent`` make."""


class Message(MPI.Message):
    """What ``Mprobe`` and ``Improbe`` find.  comm: where they found it"""

    comm: Comm

    @classmethod
    def Probe(cls, comm: Any, *args: Any, **named: Any) -> Any:
        """``comm.Mprobe``."""
        return comm.Mprobe(*args, **named)

    @classmethod
    def Iprobe(cls, comm: Any, *args: Any, **named: Any) -> Any:
        """``comm.Improbe``."""
        return comm.Improbe(*args, **named)


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
        if not made:
            return made
        ours = _KINDS[type(made)](made)
        if isinstance(ours, Message):
            ours.comm = self
        elif cards := self._agree().cards:
            attribute_of(ours).cards = cards_of_part(cards, self, ours)
        return ours

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


_OTHERWISE = {name: getattr(_MPI, name) for name in TABLE}
for _base, _kind in _KINDS.items():
    _own = _own_methods(_base)
    _methods = {name: _making_ours(_own[name]) for name in _MAKERS if name in _own}
    if find_spec("cupy"):  # else no array lies on a GPU
        _methods |= for_gpus(_own | _methods, TABLE)
        _methods |= {name: with_true_size(_methods.get(name, _own[name])) for name in PROBES if "Send" in _own}
    for _name, _method in _methods.items():
        if _name in TABLE:
            _OTHERWISE[_name] = _method
        else:
            setattr(_kind, _name, _method)
_SHAPES = {
    "Bcast": _of_one_buffer, "Allreduce": _of_a_reduction, "Reduce_scatter_block": _of_a_reduction,
    "Reduce": _of_another_reduction, "Reduce_scatter": _of_another_reduction,
}  # fmt: skip
for _name, _plain in _OTHERWISE.items():
    _plain = _OTHERWISE[_name] = noted(_plain)
    setattr(Comm, _name, logged(wraps(_plain)(_SHAPES.get(_name, _of_two_buffers)(_name, _plain))))
