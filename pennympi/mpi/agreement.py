"""The agreement of a communicator's ranks: an MPI attribute, which all wrappers of the communicator share.

MPI deletes the attribute with the communicator, which ends the agreement.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any

import numpy as np
from mpi4py import MPI

from .. import init_arguments
from ..errors import NotInitialized, Unsupported
from ..job import exits
from ..once import once
from ..settings import setting
from ..start import init
from ..team import Team
from .gpu import current_stream
from .message import LeftToMPI, fill_sizes, is_on_gpu
from .page import Card, Page, lacks_page, own_page, page_of
from .table import NEVER, TABLE
from .transfer import Overdue, Result, Transfer, until, wake_thread

HAS_CUPY = find_spec("cupy") is not None  # else no array lies on a GPU
METHODS_COUNT = HAS_CUPY  # methods that do not count calls are quicker


class Agreement:
    """The choices that all ranks of a communicator make alike: their team, and the calls that the team takes.

    team:       team of the ranks, once they have made it;  team_on_host: the same team, if it runs on CPUs
    from_bytes: {collective: least size of a message of the host that the team takes}
    by_table:   True if these are the sizes of TABLE, and ``methods.collective`` counts calls if they must be counted
    left:       number of calls of smaller messages until the ranks tell one another again whether their arrays lie on
                GPUs; None: they never do
    cards:      cards of the ranks, None for a rank without CuPy; None before the ranks have introduced themselves
    """

    def __init__(self) -> None:
        self.team: Team | None = None
        self.team_on_host: Team | None = None
        self._decide(0, 0)
        self.cards: list[Card | None] | None = None
        self._pages: dict[int, Page | None] = {}
        self._comparison: Transfer | None = None  # the ranks' comparison of where the arrays of a call lie
        self._calls = 0
        self._why_none = ""
        self._can_have_team = True  # as far as is known

    def team_for(self, comm: MPI.Intracomm, name: str, n_bytes: int, args: Iterable[Any]) -> Team:
        """The team that runs a call.  Collective.  Raises LeftToMPI or the errors of ``make_team``, on all ranks.

        n_bytes: size of the message; not used once there is a team on GPUs
        """
        on_gpu = None
        if self.team is None:
            if self.left == 0:
                on_gpu = self._any_on_gpu(comm, args)
            if not on_gpu and n_bytes < self.from_bytes[name]:
                raise LeftToMPI
        team = self.team_or_none(comm)
        if team is not None and team is not self.team_on_host:
            if self._any_on_gpu(comm, args) if on_gpu is None else on_gpu:
                return team
        elif team is not None and n_bytes >= self.from_bytes[name]:
            return team
        raise LeftToMPI

    def synchronize(self, team: Team) -> None:
        """Wait for CuPy's current stream, and for the ranks' comparison of where their arrays lie."""
        if self._comparison is not None:
            self._comparison.wait()
        team.synchronize(current_stream())

    def count(self) -> bool:
        """Count a call with a small message.  True: MPI takes it; False: the ranks first compare where their arrays lie.

        All ranks count the same calls.
        """
        if not self.left:
            return self.left is None
        self.left -= 1
        return True

    def _any_on_gpu(self, comm: MPI.Intracomm, args: Iterable[Any]) -> bool:
        """Whether an array of any rank lies on a GPU.  Collective.  Raises the errors of ``init_arguments.agree``.

        Before they have a team, the ranks also compare their settings.  If a rank has CuPy, they ask again after 1, 1, 2,
        4, 8 and so on further calls of small messages.
        """
        self.introduce(comm)
        on_gpu = any(map(is_on_gpu, args))
        if self.team is not None:
            word = np.array([on_gpu])
            request = MPI.Intracomm.Iallreduce(comm, MPI.IN_PLACE, word, MPI.LOR)
            me, size = comm.rank, comm.size  # the program may free comm meanwhile
            overdue = lambda: Overdue(me, self.pages_of_others(me, size), "a comparison of where arrays lie")  # noqa: E731
            self._comparison = Transfer(until(request.Test, Result), overdue)
            if not on_gpu or MPI.Query_thread() < MPI.THREAD_MULTIPLE:
                self._comparison.run()
                return bool(word[0])
            self._comparison.start()  # this rank knows the answer
            wake_thread()
            return True
        settings = init_arguments.read(comm.size, "auto", None, None, None)
        gathered = MPI.Intracomm.allgather(comm, (on_gpu, HAS_CUPY, settings))
        on_gpus, have_cupy, all_settings = zip(*gathered, strict=True)
        init_arguments.agree(all_settings)
        self._decide(setting("PENNYMPI_COMM_FROM_BYTES"), max(1, self._calls) if any(have_cupy) else None)
        self._calls += self.left or 0
        return any(on_gpus)

    def _decide(self, from_bytes: int | None, left: int | None) -> None:
        """Set which later calls the team takes.  from_bytes: least size, for all collectives; None: those of TABLE"""
        self.from_bytes = {name: row.from_bytes if from_bytes is None else from_bytes for name, row in TABLE.items()}
        self.left = left
        fill_sizes()
        self.by_table = from_bytes is None and (METHODS_COUNT or left is None)

    def introduce(self, comm: MPI.Intracomm) -> None:
        """The ranks show one another their cards.  Collective; a second call does nothing.

        If a rank can't open the page of another one, which it has to answer, no rank sends an envelope.
        """
        if self.cards is not None:
            return
        self.cards = MPI.Intracomm.allgather(comm, own_page().card if HAS_CUPY else None)
        if any(self.cards) and MPI.Intracomm.allreduce(comm, HAS_CUPY and lacks_page(self.cards), MPI.LOR):
            self.cards = [None] * comm.size
            text = "a rank can't open the page of another process in /proc: allow more open files (ulimit -n)"
            warnings.warn(f"messages between GPUs go through memory of the host: {text}", stacklevel=6)

    def page(self, rank: int) -> Page | None:
        """The page of a rank; None if the rank is on another node, or has not introduced itself."""
        if not self.cards or not 0 <= rank < len(self.cards):
            return None
        if rank not in self._pages:
            self._pages[rank] = page_of(self.cards[rank])
        return self._pages[rank]

    def pages_of_others(self, me: int, size: int) -> dict[int, Page | None]:
        """The pages of the other ranks of ``size``."""
        return {rank: self.page(rank) for rank in range(size) if rank != me}

    def make_team(self, comm: MPI.Intracomm) -> Team:
        """The team, which the first call makes.  Collective.  Raises as ``pennympi.init``."""
        if self.team is None:
            if self._why_none:
                raise NotInitialized(self._why_none)
            self.team = init(MPI.Intracomm(comm))
            self.team_on_host = self.team if self.team.backend == "host" else None
            left = None if self.team_on_host else 0  # the ranks of a team on GPUs ask at each call
            self._decide(setting("PENNYMPI_COMM_FROM_BYTES"), left)
        return self.team

    def team_or_none(self, comm: MPI.Intracomm) -> Team | None:
        """The team; None if these ranks can't have a team: the first call then warns.  Collective."""
        try:
            return self.make_team(comm) if self._can_have_team else None
        except Unsupported as reason:  # on every rank
            self._can_have_team = False
            warnings.warn(f"{reason}; until then its calls go by MPI", stacklevel=5)
            self._decide(NEVER, None)
            return None

    def end(self) -> None:
        """End the team.  Collective; a second call does nothing."""
        team, self.team, self.team_on_host = self.team, None, None
        self._why_none = "this communicator was freed, and its team with it: wrap one that lives in pennympi.Comm"
        if team is not None and not exits.has_stopped():  # else the process is ending, and its memory with it
            team.finalize()


@once
def _key() -> int:
    """The key of the attribute, which Dup does not copy."""
    return MPI.Comm.Create_keyval(delete_fn=lambda comm, key, agreement: agreement.end())


def agreement_of(comm: MPI.Intracomm) -> Agreement:
    """The agreement of a communicator; an agreement without effect if the communicator is null."""
    if comm == MPI.COMM_NULL:
        return Agreement()
    agreement: Any = MPI.Comm.Get_attr(comm, _key())
    if agreement is None:
        agreement = Agreement()
        MPI.Comm.Set_attr(comm, _key(), agreement)
    assert isinstance(agreement, Agreement)
    return agreement
