"""The PEs of one communicator, which start and end together.  exits.py ends them all when one of them fails."""

from __future__ import annotations

import threading
from typing import Any

from mpi4py import MPI

from ..settings import setting, warn_unknown
from .control import DONE, Control
from .rendezvous import gather_checked, rendezvous

open_jobs: list[Job] = []  # of this process, the oldest first
closing = threading.Lock()  # held by who frees what the watch (watch.py) may read, and by the watch


class Job:
    """One communicator of the library.  Making and closing a Job are collective over ``comm``.

    comm:      a private duplicate of the communicator that was given;  me, n_pes: this PE's rank, and the size
    control:   the node's table: call control.enter(name) at every call that all PEs make
    timeout_s: PENNYMPI_TIMEOUT_S (0: never)
    Raises PeerTimeout if a PE of ``comm`` does not come.
    """

    def __init__(self, comm: MPI.Intracomm):
        self.timeout_s: float = setting("PENNYMPI_TIMEOUT_S")
        self.me, self.n_pes = comm.Get_rank(), comm.Get_size()
        if self.me == 0:
            warn_unknown()
        rendezvous(comm, None, "init", self.timeout_s, lambda pe: _show_waiting(comm, pe))
        self.comm = comm.Dup()
        self.control = Control(self.comm)
        open_jobs.append(self)

    def rendezvous(self, what: str) -> None:
        """Wait for every PE.  Collective; precedes every blocking MPI call of the library.  Raises PeerTimeout."""
        rendezvous(self.comm, self.control, what, self.timeout_s)

    def gather(self, obj: Any, what: str) -> list[Any]:
        """Every PE's ``obj`` (picklable), in order of PE.  Collective.  Raises PeerTimeout."""
        return gather_checked(self.comm, self.control, obj, what, self.timeout_s)

    def close(self) -> None:
        """End the job; from then on this PE may leave the program at any time.  Collective."""
        self.rendezvous("finalize")
        self.control.set_state(DONE)
        with closing:
            open_jobs.remove(self)
        self.control.close()
        self.comm.Free()


def _show_waiting(comm: MPI.Intracomm, pe: int) -> None:
    """Write in the tables of all open jobs that this process waits for PE ``pe`` of ``comm``."""
    for job in open_jobs:
        (there,) = MPI.Group.Translate_ranks(comm.group, [pe], job.comm.group)
        if there != MPI.UNDEFINED:
            job.control.show_waiting(there)
