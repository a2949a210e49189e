"""The ends of a program: hooks on uncaught exceptions and on the normal end; the start of the monitor.

Under MPI alone a program hangs if a rank raises or leaves early, since the others wait in a collective that this rank
never enters.  The hooks end all ranks, and one message says why.  They serve all Jobs of a process.  A job of one rank,
or an interactive session, ends as Python always does.  With PENNYMPI_EXIT_HOOKS=0 only the monitor runs.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from mpi4py import MPI  # imported before hooks are registered: they must run before MPI's hook, which waits for all ranks

from ..notice import say
from ..once import once
from ..polling import poll_times
from ..settings import SettingError, setting
from . import ending, monitor
from .control import DONE, LEAVING
from .job import Job, open_jobs
from .rendezvous import LEFT, Deadline, PolledBarrier

_VAIN_S = 0.5  # time after which a PE that waits for a leaving PE counts as waiting in vain
before_mpi_ends: list[Callable[[], None]] = []  # functions that end threads which call MPI


@once
def install() -> None:
    """Install the hooks and start the monitor, before the process makes its first Job."""
    monitor.start()
    atexit.register(_stop)  # runs after ``_leave``
    try:
        if setting("PENNYMPI_EXIT_HOOKS"):
            _hook()
    except SettingError:  # init raises this error on every PE
        _hook()
    MPI.COMM_SELF.Set_attr(MPI.Comm.Create_keyval(delete_fn=_stop), None)  # the first action of MPI_Finalize deletes it


def _stop(*ignored: object) -> None:
    """End the threads, before MPI ends."""
    if ending.in_process != os.getpid():  # a forked child is not a part of the job
        return
    for job in open_jobs:
        job.control.set_state(DONE)
        if job.beats:
            job.beats.cancel()
    monitor.stop()
    for end in before_mpi_ends:
        end()


def has_stopped() -> bool:
    """Whether MPI is ending: no team may send any more."""
    return monitor.has_stopped()


def _hook() -> None:
    """Replace the hooks of Python."""
    plain, plain_thread = sys.excepthook, threading.excepthook

    def on_exception(kind: Any, value: Any, trace: Any) -> None:
        if ending.is_alone() or hasattr(sys, "ps1"):
            plain(kind, value, trace)
        else:
            ending.end_by(kind, lambda: plain(kind, value, trace))

    def on_thread_exception(args: Any) -> None:
        if ending.is_alone() or args.exc_type is SystemExit:
            plain_thread(args)
        else:
            ending.end_by(args.exc_type, lambda: plain_thread(args))

    sys.excepthook, threading.excepthook = on_exception, on_thread_exception
    atexit.register(_leave)


def _leave() -> None:
    """At exit, before MPI_Finalize, which has no deadline: wait until the other PEs leave, too, or end the job."""
    if not open_jobs or ending.is_alone():
        return
    for job in open_jobs:
        job.control.set_state(LEAVING)
    for job, barrier in [(job, PolledBarrier(job.comm, LEFT)) for job in open_jobs]:
        if reason := _why_not_together(job, barrier):
            who = f"PE {open_jobs[0].me}{open_jobs[0].control.on_host(open_jobs[0].me)}"
            ending.end(partial(say, f"pennympi: {who} left the program {reason}; the job ends"))


def _why_not_together(job: Job, barrier: PolledBarrier) -> str:
    """Wait until the other PEs of a job leave.  Returns "", or the reason why they do not leave."""
    deadline, looked_s, in_vain_since_s = Deadline(job.control, job.timeout_s), 0.0, float("inf")
    for passed_s in poll_times():
        if barrier.complete():
            break
        if deadline.passed(barrier.absent()):
            absent = "; ".join(job.control.describe(pe) for pe in barrier.absent()[:4])
            return (
                f"without team.finalize(), and after {job.timeout_s:g} s (PENNYMPI_TIMEOUT_S) others have not: {absent}"
            )
        if passed_s - looked_s < _VAIN_S / 10:
            continue
        looked_s = passed_s
        in_vain = [opened.control.describe(pe) for opened in open_jobs for pe in opened.control.waiting_in_vain()]
        in_vain_since_s = min(in_vain_since_s, passed_s) if in_vain else float("inf")
        if passed_s - in_vain_since_s > _VAIN_S:
            return f"while others wait for it: {in_vain[0]}"
    return ""
