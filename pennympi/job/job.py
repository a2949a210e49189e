"""The PEs of a communicator, which start and end together.  If one of them fails, exits.py ends them all."""

from __future__ import annotations

import threading
from typing import Any

from mpi4py import MPI

from ..errors import TwoThreads, Unsupported
from ..settings import setting, warn_unknown
from ..state import state
from ..wall_time import WAITING, timed
from .beats import Beats
from .control import DONE, Control
from .nodes import divided
from .rendezvous import Meetings

open_jobs = state.jobs
closing = threading.Lock()  # held by the monitor (monitor.py), and by a thread that frees memory that the monitor reads


class Job(Meetings):
    """A communicator of the library.  Making and closing a Job are collective over ``comm``.

    comm:      a private duplicate of the communicator that was passed;  me, n_pes: this PE's rank, and the size
    own_comm:  a second duplicate, for the program, whose receives of any tag must not match messages of the library
    control:   the node's table: call control.enter(text) at every collective call
    timeout_s: longest wait for a PE in seconds (0: no limit); None: PENNYMPI_TIMEOUT_S
    Raises PeerTimeout if a PE of ``comm`` does not come; Unsupported if MPI has no more communicators, or a PE no memory.
    """

    control: Control

    def __init__(self, comm: MPI.Intracomm, timeout_s: float | None = None):
        timeout_s = setting("PENNYMPI_TIMEOUT_S") if timeout_s is None else timeout_s
        first = Meetings(comm, timeout_s, lambda pe: _show_waiting(comm, pe))
        if first.me == 0:
            warn_unknown()
        with timed(WAITING):
            first.arrive()
        self._comms: list[MPI.Intracomm] = []
        try:
            for _ in range(2):
                self._comms.append(first.duplicate())
        except MPI.Exception:
            self._free()
            raise Unsupported(
                f"MPI has no communicator left for another team: this process has {len(open_jobs)} teams open, and each "
                "has two communicators; finalize teams that are no longer needed"
            ) from None
        private, self.own_comm = self._comms
        super().__init__(private, timeout_s)
        self._one_thread = threading.Lock()
        self.processes = first.processes
        self.processes = divided(self.processes, self.me, lambda obj: self.gather(obj, "init"))
        try:
            self._check_threads()
            self.control = Control(self.me, self.processes, lambda obj: self.gather(obj, "init"))
        except Unsupported:
            self._free()
            raise
        first_of_many = self.control.local == 0 and self.control.n_local < self.n_pes
        self.beats = Beats(self.comm, self.control) if first_of_many else None
        open_jobs.append(self)

    def _check_threads(self) -> None:
        """Raise Unsupported on every PE if there are several nodes, and threads of a PE may not call MPI."""
        several = len({process.node for process in self.processes}) > 1
        if several and min(self.gather(MPI.Query_thread(), "init")) < MPI.THREAD_MULTIPLE:
            raise Unsupported(
                "between nodes a thread of pennympi calls MPI, but MPI was started without MPI_THREAD_MULTIPLE: let "
                "mpi4py start MPI, and leave mpi4py.rc.threads and mpi4py.rc.thread_level as they are"
            )

    def rendezvous(self, what: str) -> None:
        """Wait for every PE.  Collective.  Raises PeerTimeout, CollectiveMismatchError."""
        self.gather(None, what)

    def gather(self, obj: Any, what: str) -> list[Any]:
        """``Meetings.gather``; it also raises TwoThreads.  Collective."""
        if not self._one_thread.acquire(False):
            raise TwoThreads(f"two threads call one team at the same time, one of them {what}: let one call return first")
        try:
            with timed(WAITING):
                return super().gather(obj, what)
        finally:
            self._one_thread.release()

    def close(self) -> None:
        """End the job; after this call this PE may leave the program at any time.  Collective."""
        self.rendezvous("finalize")
        if self.beats:
            self.beats.close(self.wait)
        self.control.set_state(DONE)
        with closing:
            open_jobs.remove(self)
        self.control.close()
        self._free()

    def _free(self) -> None:
        for comm in self._comms:
            if comm != MPI.COMM_NULL:  # the program may have freed own_comm
                comm.Free()


def _show_waiting(comm: MPI.Intracomm, pe: int) -> None:
    """Record in the tables of all open jobs that this process waits for PE ``pe`` of ``comm``."""
    for job in open_jobs:
        (translated,) = MPI.Group.Translate_ranks(comm.group, [pe], job.comm.group)
        if translated != MPI.UNDEFINED:
            job.control.show_waiting(translated)
