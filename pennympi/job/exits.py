"""The ends of a program: hooks on uncaught exceptions, sys.exit, the normal end and a lost launcher, and a watchdog.

MPI alone hangs when a rank raises or leaves early, because the others wait in a collective that this rank never enters.
The hooks end all ranks instead, and one message says why.  They serve all Jobs of a process.  A job of one rank, or an
interactive session, ends as Python always does.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

from mpi4py import MPI  # imported first: our hook at exit must run before MPI's, which waits for every rank

from ..errors import PeerGaveUp, PeerTimeout
from .control import LEAVING, start_up_segments, unlink
from .job import open_jobs
from .rendezvous import LEFT, Deadline, PolledBarrier, poll_times

_AHEAD_S = 1.0  # after this time in a call that this PE never entered, another PE waits in vain
_FIRST_REPORT_S = 0.5  # a PE that gave up because another PE had done so lets that one report first
_EXIT_S = 1.0  # a PE that leaves with a non-zero status waits this long for the others to leave as well
_installed_in = 0  # id of the process that has the hooks; a forked child must not end the job of its parent
_rank, _n_ranks = 0, 1  # in MPI.COMM_WORLD, asked once because other threads may not call MPI
_status = 0  # of the last call of sys.exit
_watchdogs: list[Watchdog] = []  # that run


def install() -> None:
    """Install the hooks, once in a process; before the process makes its first Job."""
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
    """End this process when mpirun was killed.  Open MPI notices that only inside MPI calls, and kernels make none."""
    while os.getppid() == launcher:
        time.sleep(0.5)
    unlink(start_up_segments() | start_up_segments("sm_segment."))  # no process will attach to them now
    os._exit(1)


def end_by(kind: type[BaseException], show: Callable[[], Any]) -> NoReturn:
    """End the job because of an exception of type ``kind``, which ``show`` prints.

    After a PeerTimeout the message says what every PE of the node was doing.
    """

    def report() -> None:
        show()
        say(f"pennympi: {_who()} ended the job")
        if issubclass(kind, PeerTimeout):
            for control in [job.control for job in open_jobs]:
                for pe in control.pes[:16]:
                    say(f"pennympi: {control.describe(pe)}")

    if issubclass(kind, PeerGaveUp):
        time.sleep(_FIRST_REPORT_S)
    end(report)


def end(report: Callable[[], Any], status: int = 1) -> NoReturn:
    """End all ranks of the job with ``status``.  One process of each node calls ``report``, which prints why."""
    if _claim():
        try:
            sys.stdout.flush()
            report()
        finally:
            time.sleep(0.05)  # an abort may make the launcher drop output that it has not read
            _abort(status)
    time.sleep(5)  # another process prints, and then ends this one
    _abort(status)


def fail(exc: BaseException) -> NoReturn:
    """End the job because of ``exc``, from another thread, and print where the main thread is stuck."""

    def show() -> None:
        main_frame = sys._current_frames().get(threading.main_thread().ident or 0)
        say("Traceback (most recent call last):")
        say("".join(traceback.format_stack(main_frame)).rstrip("\n"))
        say("".join(traceback.format_exception_only(type(exc), exc)).rstrip("\n"))

    end_by(type(exc), show)


def say(text: str) -> None:
    """Write one line to stderr in one piece, so that lines of several ranks do not mix."""
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass  # stderr is closed


def _alone() -> bool:
    """True if no other rank depends on this process."""
    if _installed_in != os.getpid() or not MPI.Is_initialized() or MPI.Is_finalized():
        return True
    return _n_ranks == 1


def _claim() -> bool:
    """True for the one process of the node that may print why the job ends."""
    if open_jobs:
        control = open_jobs[0].control
        control.set_abort()
        return control.claim()
    if _rank > 0:  # without a table: rank 0, if it fails too, prints first
        time.sleep(1)
    return True


def _who() -> str:
    me, n_pes = (open_jobs[0].me, open_jobs[0].n_pes) if open_jobs else (_rank, _n_ranks)
    return f"PE {me} of {n_pes}"


def _abort(status: int) -> NoReturn:
    unlink(start_up_segments())  # Control may not have done it yet
    if MPI.Query_thread() == MPI.THREAD_MULTIPLE or threading.current_thread() is threading.main_thread():
        MPI.COMM_WORLD.Abort(status)
    os._exit(status)  # the launcher ends the others when a rank ends without MPI_Finalize


def _leave() -> None:
    """At exit, before MPI_Finalize, which has no deadline: wait until the other PEs leave too, or end the job."""
    if not open_jobs or _alone():
        return
    for job in open_jobs:
        job.control.set_state(LEAVING)
    barriers = [(job, PolledBarrier(job.comm, LEFT)) for job in open_jobs]
    deadlines = {job: Deadline(job.control, job.timeout_s) for job in open_jobs}
    ahead_since_s = float("inf")
    for passed_s in poll_times():
        waiting = [(job, barrier) for job, barrier in barriers if not barrier.complete()]
        if not waiting:
            for watchdog in list(_watchdogs):
                watchdog.stop()
            return
        ahead = [(job, pe) for job, _ in waiting for pe in job.control.ahead()]
        ahead_since_s = min(ahead_since_s, passed_s) if ahead else float("inf")
        if passed_s - ahead_since_s > _AHEAD_S:
            job, pe = ahead[0]
            _end_at_exit(f"while PE {pe} waits in {job.control.call(pe)}, and every PE must make the same calls")
        job, barrier = waiting[0]
        if _status and passed_s > _EXIT_S:
            _end_at_exit(f"with status {_status} while others still run")
        if deadlines[job].passed(barrier):
            others = "; ".join(job.control.describe(pe) for pe in barrier.absent()[:4])
            _end_at_exit(
                f"without team.finalize(), and after {job.timeout_s:g} s (PENNYMPI_TIMEOUT_S) others have not: {others}"
            )


def _end_at_exit(reason: str) -> NoReturn:
    """End the job; ``reason`` completes the sentence "PE 0 left the program ..."."""
    me = open_jobs[0].me
    text = f"pennympi: PE {me} left the program {reason}; the job ends"
    end(lambda: say(text), (_status & 255) or 1)


class Watchdog:
    """Ends the job when a wait on the device gave up and the main thread does not notice.

    poll:      returns the exception to raise, or None; called every 0.1 s from a thread of its own
    grace_s:   how long the main thread then has to raise the exception itself
    delivered: set it to True when the main thread has raised the exception
    """

    def __init__(self, poll: Callable[[], BaseException | None], grace_s: float = 2.0):
        self.delivered = False
        self._poll, self._grace_s = poll, grace_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="pennympi watchdog", daemon=True)
        _watchdogs.append(self)
        self._thread.start()

    def _watch(self) -> None:
        exc = None
        while exc is None:
            if self._stop.wait(0.1):
                return
            exc = self._poll()
        if not self._stop.wait(self._grace_s) and not self.delivered:
            fail(exc)

    def stop(self) -> None:
        """End the thread; call it before the memory that ``poll`` reads is freed."""
        self._stop.set()
        self._thread.join()
        _watchdogs.remove(self)
