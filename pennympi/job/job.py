"""One end for the whole job: no PE waits for another that is gone, and one message says why.

MPI alone hangs when a rank raises or leaves early, for the others wait in a collective that it never
enters.  A Job, one for each communicator, ends all ranks instead; exits.py holds the hooks.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from typing import Any

from mpi4py import MPI

from ..settings import setting, warn_unknown
from . import exits
from .control import Control
from .rendezvous import gather_checked, rendezvous


class Job:
    """The PEs of ``comm``, as one that lives and dies together; collective to make and to close.

    comm:      a private duplicate of the communicator given
    control:   the node's table (control.enter(name) at every call that all PEs make)
    timeout_s: PENNYMPI_TIMEOUT_S (0: never)
    Raises PeerTimeout when a PE of ``comm`` does not come to make it.
    """

    def __init__(self, comm: MPI.Intracomm):
        exits.install()
        self.timeout_s: float = setting("PENNYMPI_TIMEOUT_S")
        self.me, self.n_pes = comm.Get_rank(), comm.Get_size()
        if self.me == 0:
            warn_unknown()
        rendezvous(comm, None, "init", self.timeout_s)
        self.comm = comm.Dup()
        self.control = Control(self.comm)
        self.watchdog: Watchdog | None = None
        exits.open_jobs.append(self)

    def rendezvous(self, what: str) -> None:
        """Meets every PE, or raises PeerTimeout; before every blocking MPI call of the library."""
        rendezvous(self.comm, self.control, what, self.timeout_s)

    def gather(self, obj: Any, what: str) -> list[Any]:
        """Every PE's ``obj`` in the order of the PEs, or PeerTimeout."""
        return gather_checked(self.comm, self.control, obj, what, self.timeout_s)

    def fail(self, exc: BaseException) -> None:
        """Prints ``exc`` and where the main thread is, and ends the job; does not return."""
        exits.end_by(type(exc), lambda: _print_from_outside(exc))

    def stop(self) -> None:
        """Ends what reads the node's table beside the main thread."""
        if self.watchdog:
            self.watchdog.stop()

    def close(self) -> None:
        """Collective: a proper end; this PE may now leave the program whenever it likes."""
        self.rendezvous("finalize")
        exits.open_jobs.remove(self)
        self.control.close()
        self.comm.Free()


def _print_from_outside(exc: BaseException) -> None:
    """The traceback of the main thread, which is stuck and cannot raise ``exc`` itself."""
    exits.say("Traceback (most recent call last):")
    exits.say("".join(traceback.format_stack(exits.main_frame())).rstrip("\n"))
    exits.say("".join(traceback.format_exception_only(type(exc), exc)).rstrip("\n"))


class Watchdog:
    """Ends the job when a wait on the device gave up and the main thread does not notice.

    poll:      returns the exception to raise, or None; called every 0.1 s from a thread of its own
    delivered: set it once the main thread raises the exception itself; it has ``grace_s`` seconds for that
    """

    def __init__(self, job: Job, poll: Callable[[], BaseException | None], grace_s: float = 2.0):
        self.delivered = False
        job.watchdog = self
        self._job, self._poll, self._grace_s = job, poll, grace_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="pennympi watchdog", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        exc = None
        while exc is None:
            if self._stop.wait(0.1):
                return
            exc = self._poll()
        if not self._stop.wait(self._grace_s) and not self.delivered:
            self._job.fail(exc)

    def stop(self) -> None:
        """Ends the thread; before the memory that ``poll`` reads is given back."""
        self._stop.set()
        self._thread.join()
