"""The monitor: a thread of each process that runs ten times a second, whatever the main thread does.

The monitor shows that a process that compiles is alive.  It ends the job if a device has given up and the program does
not notice.  It ends the process if the launcher has ended, or if a PE of another launcher has ended the job.  Until then
the monitor neither calls MPI nor takes a lock that the main thread may hold for long.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from mpi4py import MPI

from ..compile.cache import compiling
from . import ending, liveness
from .job import closing, open_jobs

_TICK_S = 0.1
_LAUNCHER_S = 1.0  # time in which a launcher ends the processes that it has started


class DeviceMonitor:
    """Polls a device for a wait that gave up, and ends the job if the main thread does not notice.

    poll:      returns the exception to raise, or None; called ten times a second
    grace_s:   time in which the main thread may then raise the exception itself
    delivered: True once the main thread has raised the exception; its code sets it
    """

    def __init__(self, poll: Callable[[], BaseException | None], grace_s: float = 2.0):
        self.delivered = False
        self._poll, self._grace_s, self._end_s = poll, grace_s, float("inf")
        with closing:
            _monitors.append(self)

    def poll(self, now_s: float) -> None:
        """Poll; end the job if the main thread's time is over."""
        exc = self._poll()
        if exc is not None:
            self._end_s = min(self._end_s, now_s + self._grace_s)
            if now_s >= self._end_s and not self.delivered:
                ending.fail(exc)

    def stop(self) -> None:
        """End the polls; to be called before the memory that ``poll`` reads is freed."""
        with closing:
            _monitors.remove(self)


_monitors: list[DeviceMonitor] = []
_stopped = threading.Event()


def start() -> None:
    """Start the thread."""
    is_launched = MPI.COMM_WORLD.Get_size() > 1 or MPI.Comm.Get_parent() != MPI.COMM_NULL
    launcher = os.getppid() if is_launched else 0
    threading.Thread(target=_run, args=(launcher,), name="pennympi monitor", daemon=True).start()


def stop() -> None:
    """Let the thread read no table any more."""
    with closing:
        _stopped.set()
        liveness.monitor_words[liveness.TICKED_NS] = liveness.NEVER_NS


def has_stopped() -> bool:
    """Whether ``stop`` was called, before MPI ends."""
    return _stopped.is_set()


def _run(launcher: int) -> None:
    now_s, ends_s = time.monotonic(), float("inf")
    while True:
        time.sleep(_TICK_S)
        before_s, now_s = now_s, time.monotonic()
        now_ns = int(now_s * 1e9)
        with closing:
            if _stopped.is_set():
                return
            if now_s - before_s > _TICK_S + liveness.LATE_NS / 1e9:
                liveness.monitor_words[liveness.RESUMED_NS] = now_ns  # this process was suspended, perhaps all were
            liveness.monitor_words[liveness.TICKED_NS] = now_ns
            if compiling():
                liveness.show_alive(now_ns)
            if launcher and os.getppid() != launcher:
                os._exit(1)  # mpirun was killed; Open MPI notices this only in MPI calls, which kernels do not make
            if any(job.control.ends for job in open_jobs):
                ends_s = min(ends_s, now_s + _LAUNCHER_S)
                if now_s >= ends_s:
                    ending.abort()
            for monitor in _monitors:
                monitor.poll(now_s)
