"""The ways out of a program, and the hooks on them: uncaught exceptions, sys.exit, the plain end, a lost launcher.

One set of hooks serves all Jobs of a process.  A job of one rank, or an interactive session, ends as
Python always does.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from mpi4py import MPI  # imported first: our hook at exit must run before MPI's, which waits for every rank

from ..errors import PeerGaveUp, PeerTimeout
from .control import LEAVING, start_up_segments, unlink
from .rendezvous import LEFT, Deadline, Meeting, pauses

if TYPE_CHECKING:
    from types import FrameType

    from .job import Job

open_jobs: list[Job] = []  # the oldest first
_AHEAD_S = 1.0  # how long another PE must be in a call of ours before it counts as waiting in vain
_BEFORE_S = 0.5  # how long a PE that gave up because another had done so lets that one speak first
_EXIT_S = 1.0  # how long a PE that leaves with a non-zero status waits for the others to do so too
_installed_in = 0  # the process that has the hooks; a forked child must not end the job of its parent
_rank, _n_ranks = 0, 1  # in MPI.COMM_WORLD, asked once: other threads may be forbidden to call MPI
_status = 0  # what sys.exit was last called with


def install() -> None:
    """Puts the hooks in place, once a process."""
    global _installed_in, _rank, _n_ranks
    if _installed_in == os.getpid():
        return
    _installed_in = os.getpid()
    _rank, _n_ranks = MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size()
    plain, plain_thread, plain_exit = sys.excepthook, threading.excepthook, sys.exit

    def on_exception(kind: Any, value: Any, trace: Any) -> None:
        if _alone() or hasattr(sys, "ps1"):
            plain(kind, value, trace)
        else:
            end_by(kind, lambda: plain(kind, value, trace))

    def on_thread_exception(args: Any) -> None:
        if _alone() or args.exc_type is SystemExit:
            plain_thread(args)
        else:
            end_by(args.exc_type, lambda: plain_thread(args))

    def exit_noting_status(status: Any = None) -> NoReturn:
        global _status
        _status = status if isinstance(status, int) else int(status is not None)
        plain_exit(status)

    sys.excepthook, threading.excepthook, sys.exit = on_exception, on_thread_exception, exit_noting_status
    atexit.register(_leave)
    if not _alone():
        threading.Thread(target=_end_with_launcher, args=(os.getppid(),), name="pennympi launcher", daemon=True).start()


def _end_with_launcher(launcher: int) -> None:
    """Ends this process when mpirun was killed: Open MPI notices that only inside MPI calls, and kernels make none."""
    while os.getppid() == launcher:
        time.sleep(0.5)
    unlink(start_up_segments() | start_up_segments("sm_segment."))  # nobody is left who would attach to them
    os._exit(1)


def end_by(kind: type[BaseException], show: Callable[[], Any]) -> NoReturn:
    """Ends the job by an exception, which ``show`` prints; after a PeerTimeout, says what every PE was doing."""

    def report() -> None:
        show()
        say(f"pennympi: {_who()} ended the job")
        if issubclass(kind, PeerTimeout):
            for control in [job.control for job in open_jobs]:
                for pe in control.pes[:16]:
                    say(f"pennympi: {control.describe(pe)}")

    if issubclass(kind, PeerGaveUp):
        time.sleep(_BEFORE_S)
    end(report)


def end(report: Callable[[], Any], status: int = 1) -> NoReturn:
    """Ends the job, all ranks of it.  ``report`` prints why, in one process of the node only."""
    if _claim():
        try:
            sys.stdout.flush()
            report()
        finally:
            time.sleep(0.05)  # the launcher may drop what it has not read when the job is aborted
            _abort(status)
    time.sleep(5)  # another process is printing; it ends us
    _abort(status)


def say(text: str) -> None:
    """One whole line to stderr: lines of several ranks do not mix."""
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass  # nobody is left to read it


def main_frame() -> FrameType | None:
    return sys._current_frames().get(threading.main_thread().ident or 0)


def _alone() -> bool:
    """No other rank depends on this process."""
    if _installed_in != os.getpid() or not MPI.Is_initialized() or MPI.Is_finalized():
        return True
    return _n_ranks == 1


def _claim() -> bool:
    if open_jobs:
        control = open_jobs[0].control
        control.set_abort()
        return control.claim()
    if _rank > 0:  # before init there is no table: rank 0, if it fails alike, speaks first
        time.sleep(1)
    return True


def _who() -> str:
    me, n_pes = (open_jobs[0].me, open_jobs[0].n_pes) if open_jobs else (_rank, _n_ranks)
    return f"PE {me} of {n_pes}"


def _abort(status: int) -> NoReturn:
    unlink(start_up_segments())  # an abort may come before init has done it
    if MPI.Query_thread() == MPI.THREAD_MULTIPLE or threading.current_thread() is threading.main_thread():
        MPI.COMM_WORLD.Abort(status)
    os._exit(status)  # the launcher ends the others when a rank goes without MPI_Finalize


def _leave() -> None:
    """At exit, before MPI_Finalize, which has no deadline: waits for the others to leave too, or ends the job."""
    if not open_jobs or _alone():
        return
    for job in open_jobs:
        job.control.set_state(LEAVING)
    meetings = [(job, Meeting(job.comm, LEFT)) for job in open_jobs]
    deadlines = {job: Deadline(job.control, job.timeout_s) for job in open_jobs}
    ahead_since_s = float("inf")
    for passed_s in pauses():
        missing = [(job, meeting) for job, meeting in meetings if not meeting.complete()]
        if not missing:
            for job in open_jobs:
                job.stop()
            return
        ahead = [(job, pe) for job, _ in missing for pe in job.control.ahead()]
        ahead_since_s = min(ahead_since_s, passed_s) if ahead else float("inf")
        if passed_s - ahead_since_s > _AHEAD_S:
            job, pe = ahead[0]
            _complain(f"while PE {pe} waits in {job.control.call(pe)}, and every PE must make the same calls")
        job, meeting = missing[0]
        if _status and passed_s > _EXIT_S:
            _complain(f"with status {_status} while others still run")
        if deadlines[job].passed(meeting):
            others = "; ".join(job.control.describe(pe) for pe in meeting.absent()[:4])
            _complain(
                f"without team.finalize(), and after {job.timeout_s:g} s (PENNYMPI_TIMEOUT_S) others have not: {others}"
            )


def _complain(reason: str) -> NoReturn:
    me = open_jobs[0].me
    text = f"pennympi: PE {me} left the program {reason}; the job ends"
    end(lambda: say(text), (_status & 255) or 1)
