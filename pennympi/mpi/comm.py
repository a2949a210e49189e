"""``Comm``: mpi4py's communicator, whose collectives run on a team where that is faster, or where MPI can't.

A team on CPUs takes the calls of large messages.  A team on GPUs takes a call if an array of any rank lies on a GPU, and
copies the other ranks' arrays to its GPUs.  MPI takes all other calls.  table.py says what may decide.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from mpi4py import MPI

from ..errors import NotInitialized
from ..team import Team
from .agreement import HAS_CUPY, Agreement, agreement_of
from .flat import Flat
from .log import LOGS, log_way, logged
from .message import LeftToMPI, is_in_place, plain_array
from .messages import PROBES, with_true_size
from .methods import collective, for_gpus
from .page import Card
from .requests import Prequest, Requests, Standing
from .table import TABLE, Row

_MPI = MPI.Intracomm
COMM_WORLD, COMM_SELF = MPI.COMM_WORLD, MPI.COMM_SELF  # mpi4py's own objects, which pickle finds by these names


class Comm(MPI.Intracomm):
    """An mpi4py intra-communicator; ``Comm(MPI.COMM_WORLD)`` shares its ranks and its context.

    All methods are mpi4py's, with its arguments and errors.  The collectives of ``table.TABLE`` may run on a team, which
    the first such call makes; with arrays on GPUs their forms I... and ..._init may, too.  A blocking call returns when
    its result is complete.  All wrappers of a communicator share its team, which ends with the communicator.
    Raises as mpi4py, and as ``Team``: PeerTimeout, CollectiveMismatchError, Unsupported.
    """

    _agreement = Agreement()  # before the first call

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
        if self._agreement.cards is None:
            self._agree().introduce(self)
        _MPI.Barrier(self)

    def __reduce__(self) -> Any:
        """Pickle MPI.COMM_WORLD and MPI.COMM_SELF by their names, and all other communicators as mpi4py does."""
        for name in ("COMM_WORLD", "COMM_SELF"):
            if self is getattr(MPI, name):
                return _predefined, (name,)
        return super().__reduce__()

    def _agree(self) -> Agreement:
        """The agreement of the ranks."""
        if self._agreement is Comm._agreement:
            self._agreement = agreement_of(self)
        return self._agreement

    def _end_team(self) -> None:
        """End the team before MPI frees the communicator, which MPI may do later, inside another call."""
        if self != MPI.COMM_NULL:
            self._agree().end()


def _by_size(name: str, row: Row, by_mpi: Callable[..., None]) -> Callable[..., None]:
    """A collective that the team runs, or else MPI, on all ranks."""
    may_be_in_place = name in ("Reduce", "Reduce_scatter", "Reduce_scatter_block")  # their send buffer is sized

    def method(comm: Comm, *args: Any) -> None:
        agreement = comm._agree()
        try:
            if agreement.team is agreement.team_on_host:  # on CPUs, or there is none yet
                sized = args[1 if may_be_in_place and is_in_place(args[0]) else row.sized]
                n_bytes = row.size(sized, comm.size if row.in_parts else 1)
                if n_bytes < agreement.from_bytes[name] and agreement.count():
                    return by_mpi(comm, *args)
                if agreement.team_on_host is not None and row.by_plain(agreement.team_on_host, *map(plain_array, args)):
                    return None
                run = row.read(comm, *args)
                team = agreement.team_for(comm, name, n_bytes, args)
            else:
                team = agreement.team_for(comm, name, 0, args)
                run = row.read(comm, *args)  # while the ranks' comparison is under way
        except LeftToMPI:
            return by_mpi(comm, *args)
        log_way(comm, name, "the team")
        flat = Flat(team.backend == "cuda")
        run(team, flat)
        if team.backend == "cuda":
            agreement.synchronize(team)
        flat.put_back()
        return None

    return method


def _predefined(name: str) -> Any:
    return getattr(MPI, name)


class Message(MPI.Message, metaclass=Standing):
    """A message that a communicator has found.  comm: that communicator; COMM_SELF if it is not known"""

    comm: MPI.Intracomm

    def __init__(self, message: MPI.Message | None = None):
        self.comm = getattr(message, "comm", None) or Comm(COMM_SELF)

    @classmethod
    def Probe(cls, comm: MPI.Comm, *args: Any, **named: Any) -> MPI.Message:  # type: ignore[override]
        return comm.Mprobe(*args, **named)

    @classmethod
    def Iprobe(cls, comm: MPI.Comm, *args: Any, **named: Any) -> MPI.Message | None:  # type: ignore[override]
        return comm.Improbe(*args, **named)


_KINDS = {_MPI: Comm, MPI.Message: Message}
_KINDS |= {base: type(base.__name__, (Comm, base), {}) for base in (MPI.Cartcomm, MPI.Graphcomm, MPI.Distgraphcomm)}
_MAKERS = (
    "Split", "Split_type", "Create", "Create_group", "Create_cart", "Create_graph", "Create_dist_graph",
    "Create_dist_graph_adjacent", "Sub", "Dup", "Dup_with_info", "Clone", "Mprobe", "Improbe",
)  # fmt: skip


def _wrapping(plain: Callable[..., Any]) -> Callable[..., Any]:
    """A method whose result is wrapped by the class of this file, unless the result is null."""

    @wraps(plain)
    def method(self: Any, *args: Any, **named: Any) -> Any:
        result = plain(self, *args, **named)
        if not result:
            return result
        if kind := _KINDS.get(type(result)):  # mpi4py gives a duplicate the class of this file
            result = kind(result)
        if isinstance(result, Message):
            result.comm = self
        elif cards := self._agree().cards:
            agreement_of(result).cards = _cards_of_part(cards, self, result)
        return result

    return method


def stand_in_for_mpi4py() -> None:
    """Put objects and classes of this folder into mpi4py's module, for a program that knows only mpi4py."""
    names: dict[str, Any] = {"Message": Message, "Prequest": Prequest} | ({"Request": Requests} if HAS_CUPY else {})
    vars(MPI).update(names, COMM_WORLD=Comm(COMM_WORLD), COMM_SELF=Comm(COMM_SELF))


def _cards_of_part(cards: list[Card | None], whole: MPI.Intracomm, part: MPI.Intracomm) -> list[Card | None]:
    """The cards of the ranks of a communicator that was made from another one."""
    wholes, parts = whole.Get_group(), part.Get_group()
    ranks = parts.Translate_ranks(list(range(parts.size)), wholes)
    wholes.Free()
    parts.Free()
    return [cards[rank] if rank >= 0 else None for rank in ranks]


def _own_methods(base: Any) -> dict[str, Callable[..., Any]]:
    """The methods of a class of mpi4py's that it does not inherit from MPI.Intracomm."""
    inherited = object if base is _MPI else _MPI
    methods = {name: getattr(base, name) for name in dir(base) if name[0].isupper()}
    return {
        name: method
        for name, method in methods.items()
        if callable(method) and method is not getattr(inherited, name, None)
    }


for _base, _kind in _KINDS.items():
    _plain = _own_methods(_base)
    _methods = {name: _wrapping(_plain[name]) for name in _MAKERS if name in _plain}
    if HAS_CUPY:
        _methods |= for_gpus(_plain)
        _methods |= {name: with_true_size(_methods.get(name, _plain[name])) for name in PROBES if "Send" in _plain}
    for _name in TABLE.keys() & _plain.keys():
        _row, _by_mpi = TABLE[_name], _methods.get(_name, _plain[_name])
        if LOGS:
            _row, _by_mpi = _row._replace(by_plain=lambda *args: False), logged(_by_mpi)
        _methods[_name] = collective(_name, _row, _by_mpi, _by_size(_name, _row, _by_mpi))
    for _name, _method in _methods.items():
        setattr(_kind, _name, _method)
