"""How a process learns at once that another one of its node has ended, and how it did.

A process holds a robust lock for as long as it lives, in a page of memory that others map, and another process waits for
that lock.  Linux gives it away before it closes the files of a process that ends, so also before the launcher can know:
it kills the others at once.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import signal
import time

_NAME = "pennympi-lifeline-{}"  # with the process's number: it has those of others open, too
_MUTEX_BYTES = 64  # at least sizeof(pthread_mutex_t) and of its attributes
_SHARED = _ROBUST = 1  # PTHREAD_PROCESS_SHARED, PTHREAD_MUTEX_ROBUST
_libc = ctypes.CDLL(None)


class _Time(ctypes.Structure):
    _fields_ = (("s", ctypes.c_long), ("ns", ctypes.c_long))


class Lifeline:
    """A robust lock in shared memory.  fd: of the memory, which this closes"""

    def __init__(self, fd: int):
        try:
            self._mutex = ctypes.c_char.from_buffer(mmap.mmap(fd, mmap.PAGESIZE))
        finally:
            os.close(fd)

    def hold(self) -> None:
        """Hold the lock until ``let_go``, or the end of the calling thread."""
        _libc.pthread_mutex_lock(ctypes.byref(self._mutex))

    def let_go(self) -> None:
        """Undo ``hold``, in the same thread: the process ends as it should."""
        _libc.pthread_mutex_unlock(ctypes.byref(self._mutex))

    def ended(self, wait_s: float) -> bool:
        """True as soon as the process that holds the lock has ended; False after ``wait_s``, or if nobody holds it."""
        end_s = time.monotonic() + wait_s
        until = _Time(int(end_s), int(end_s % 1 * 1e9))
        status = _libc.pthread_mutex_clocklock(ctypes.byref(self._mutex), time.CLOCK_MONOTONIC, ctypes.byref(until))
        if status in (0, errno.EOWNERDEAD):
            self.let_go()
        return bool(status == errno.EOWNERDEAD)


def own_lifeline() -> Lifeline | None:
    """A new lock of this process, which others find by its name; None where the system has no such locks."""
    if not hasattr(_libc, "pthread_mutex_clocklock") or not hasattr(os, "memfd_create"):
        return None
    try:
        fd = os.memfd_create(_NAME.format(os.getpid()))
        os.ftruncate(fd, mmap.PAGESIZE)
        line = Lifeline(fd)
    except OSError:
        return None
    attributes = ctypes.create_string_buffer(_MUTEX_BYTES)
    _libc.pthread_mutexattr_init(attributes)
    _libc.pthread_mutexattr_setpshared(attributes, _SHARED)
    _libc.pthread_mutexattr_setrobust(attributes, _ROBUST)
    _libc.pthread_mutex_init(ctypes.byref(line._mutex), attributes)
    return line


def lifeline_of(pid: int) -> Lifeline | None:
    """The lock of another process; None if it has none, or none that this process may see."""
    folder, link = f"/proc/{pid}/fd", f"/memfd:{_NAME.format(pid)} "
    try:
        for name in os.listdir(folder):
            if os.readlink(f"{folder}/{name}").startswith(link):
                return Lifeline(os.open(f"{folder}/{name}", os.O_RDWR | os.O_CLOEXEC))
    except (OSError, ValueError):
        pass  # it has ended, or may not be looked at
    return None


def how_it_ended(pid: int) -> tuple[str, int]:
    """How a process that has ended, or is about to, did so: "was killed by signal 9 (SIGKILL)", and a status for the job.

    Only known until the launcher has asked.
    """
    try:
        with open(f"/proc/{pid}/stat") as stat:
            code = int(stat.read().rpartition(") ")[2].split()[-1])  # as waitpid gives it
    except (OSError, ValueError, IndexError):
        return "has ended", 1
    number = code & 127
    if number:
        name = signal.Signals(number).name if number in set(signal.Signals) else "a real-time signal"
        return f"was killed by signal {number} ({name})", 128 + number
    return f"left the program with status {code >> 8}", code >> 8 or 1
