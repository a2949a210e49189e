"""The PEs of one communicator, which start and end together.  exits.py ends them all when one of them fails."""

from __future__ import annotations

from typing import Any

from mpi4py import MPI

from ..errors import Unsupported
from ..settings import setting, warn_unknown
from .control import Control
from .process import this_process
from .rendezvous import Meetings

open_jobs: list[Job] = []  # of this process, the oldest first


class Job:
    """One communicator of the library.  Making and closing a Job are collective over ``comm``.

    comm:      a private duplicate of the communicator that was given;  me, n_pes: this PE's rank, and the size
    control:   the node's table: call control.enter(text) at every call that all PEs make
    timeout_s: how long to wait for a PE (0: for ever); None is PENNYMPI_TIMEOUT_S
    Raises PeerTimeout if a PE of ``comm`` does not come, Unsupported if a PE has no memory for the table.
    """

    def __init__(self, comm: MPI.Intracomm, timeout_s: float | None = None):
        self.timeout_s: float = setting("PENNYMPI_TIMEOUT_S") if timeout_s is None else timeout_s
        self.me, self.n_pes = comm.Get_rank(), comm.Get_size()
        if self.me == 0:
            warn_unknown()
        first = Meetings(comm, self.timeout_s)
        processes = first.processes = first.gather(this_process(), "init")
        self.comm = first.duplicate()
        self._meetings = Meetings(self.comm, self.timeout_s, processes)
        try:
            self.control = Control(self.me, processes, lambda obj: self._meetings.gather(obj, "init"))
        except Unsupported:
            self.comm.Free()
            raise
        self._meetings.control = self.control
        open_jobs.append(self)

    def rendezvous(self, what: str) -> None:
        """Wait for every PE.  Collective.  Raises PeerTimeout, CollectiveMismatchError."""
        self._meetings.rendezvous(what)

    def gather(self, obj: Any, what: str) -> list[Any]:
        """Every PE's ``obj``, in order of PE.  Collective.

        Raises PeerTimeout, CollectiveMismatchError, TypeError (an object that can't be pickled), ValueError (too large).
        """
        return self._meetings.gather(obj, what)

    def close(self) -> None:
        """End the job; from then on this PE may leave the program at any time.  Collective."""
        self.rendezvous("finalize")
        open_jobs.remove(self)
        self.control.close()
        self.comm.Free()
