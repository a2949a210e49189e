"""The end of a job by an error: one process of each node prints the reason, and all ranks end."""

from __future__ import annotations

import errno
import faulthandler
import os
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

from mpi4py import MPI

from ..errors import PeerGaveUp, PeerTimeout
from ..notice import say
from .job import open_jobs

_FIRST_REPORT_S = 0.5  # delay of the report of a PE that gave up after another PE: the other PE reports first
_END_S = 2.0  # time in which the process that may print the reason ends the others
_READ_S = 0.05  # time for the launcher to read the message, since it may drop the rest after an abort
_ABORT_S = 1.0  # most time of an abort; a longer abort hangs, since MPI waits for a stuck thread
rank, n_ranks = 0, 1  # in the largest communicator so far; stored, since other threads may not call MPI
in_process = 0  # id of the process with this rank; a forked child must not end the job of its parent
_nowhere = os.open(os.devnull, os.O_WRONLY)  # a descriptor, and not a file object, which Python would close at exit
_names: list[socket.socket] = []  # sockets that hold a name, which only one socket of the node can have


def prepare(comm: MPI.Intracomm) -> None:
    """Store the answers of MPI that the functions of this file need, before a job over ``comm`` is made.

    The processes of ``comm`` need not be in one MPI.COMM_WORLD: some may have been spawned, or connected.
    """
    global rank, n_ranks, in_process
    in_process = os.getpid()
    for known in (MPI.COMM_WORLD, comm):
        if known.Get_size() > n_ranks:
            rank, n_ranks = known.Get_rank(), known.Get_size()


def is_alone() -> bool:
    """Whether no other process depends on this process."""
    return in_process != os.getpid() or not MPI.Is_initialized() or MPI.Is_finalized() or n_ranks == 1


def end_by(kind: type[BaseException], show: Callable[[], Any]) -> NoReturn:
    """End the job because of an exception of type ``kind``, which ``show`` prints.

    After a PeerTimeout the message says what every PE of the node was doing.
    """

    def report() -> None:
        show()
        job = open_jobs[0] if open_jobs else None
        who = f"PE {job.me} of {job.n_pes}{job.control.on_host(job.me)}" if job else f"PE {rank} of {n_ranks}"
        say(f"pennympi: {who} ended the job")
        if issubclass(kind, PeerTimeout):
            for control in [job.control for job in open_jobs]:
                for pe in control.pes[:16]:
                    say(f"pennympi: {control.describe(pe)}")

    if issubclass(kind, PeerGaveUp) or (rank > 0 and not open_jobs):
        time.sleep(_FIRST_REPORT_S)  # before the first init the report of rank 0 comes first, if it fails, too
    end(report)


def end(report: Callable[[], Any]) -> NoReturn:
    """End all ranks of the job.  One process of each node calls ``report``, which prints the reason."""
    _limit(_END_S + _ABORT_S)
    if claim():
        try:
            report()
            sys.stdout.flush()
        finally:
            time.sleep(_READ_S)
            for job in open_jobs:
                job.control.end()
            abort()
    time.sleep(_END_S)
    abort()


def fail(exc: BaseException) -> NoReturn:
    """End the job because of ``exc``, from another thread, and print where the main thread is stuck."""

    def show() -> None:
        main_frame = sys._current_frames().get(threading.main_thread().ident or 0)
        say("Traceback (most recent call last):")
        say("".join([*traceback.format_stack(main_frame), *traceback.format_exception_only(exc)]).rstrip("\n"))

    end_by(type(exc), show)


def claim() -> bool:
    """True for the one thread of the node's processes that may print why the job ends.  It does not call MPI."""
    if open_jobs:
        return all([job.control.claim() for job in open_jobs])  # a list: other processes may have some of these tables
    try:  # there is no table, so the processes that the launcher started on this node compete for a name
        _names.append(socket.socket(socket.AF_UNIX))
        _names[-1].bind(f"\0pennympi ends {os.getppid()} {os.readlink('/proc/self/ns/pid')}")
    except OSError as error:
        return error.errno != errno.EADDRINUSE
    return True


def abort() -> NoReturn:
    """End this process, and all processes that its launcher has started."""
    _limit(_ABORT_S)
    if MPI.Query_thread() == MPI.THREAD_MULTIPLE or threading.current_thread() is threading.main_thread():
        MPI.COMM_WORLD.Abort(1)
    os._exit(1)  # the launcher ends all ranks when a rank ends without MPI_Finalize


def _limit(limit_s: float) -> None:
    """End this process after ``limit_s`` at the latest, whichever thread holds the GIL then."""
    faulthandler.dump_traceback_later(limit_s, exit=True, file=_nowhere)
