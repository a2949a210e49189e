"""Requests of collectives that run on a GPU: MPI's generalized requests, which the stream completes."""

from __future__ import annotations

from typing import Any

from mpi4py import MPI

from ..team import Team
from .message import current_stream
from .prepared import Call


def begin(team: Team, call: Call) -> MPI.Request:
    """Enqueue a call on the current stream; the request completes when the stream has run it.

    Any method of MPI waits for it.  Needs an MPI with MPI_THREAD_MULTIPLE, as mpi4py starts it.
    """
    call.run(team)
    request = MPI.Grequest.Start(lambda status: None, lambda: None, lambda _: None)
    held = MPI.Grequest(request)  # MPI's own handle is gone once the user has waited
    current_stream().launch_host_func(lambda of: of[0].Complete(), (held, call))
    return request


class Persistent(MPI.Prequest):
    """A persistent collective on a GPU.  Waitall and Startall of several take MPI's own requests only."""

    _team: Team
    _call: Call | None
    _begun: MPI.Request | None

    def __new__(cls, team: Team, call: Call) -> Persistent:
        made: Persistent = super().__new__(cls)
        made._team, made._call, made._begun = team, call, None
        return made

    def Start(self) -> None:
        """Enqueue the collective on the current stream."""
        assert self._call is not None, "the request has been freed"
        self._begun = begin(self._team, self._call)

    def Wait(self, status: Any = None) -> Any:
        """Wait until it has run."""
        return self._begun.Wait(status) if self._begun else True

    def Test(self, status: Any = None) -> bool:
        """Whether it has run."""
        return self._begun.Test(status) if self._begun else True

    def Free(self) -> None:
        """Forget the collective."""
        self._call = self._begun = None
