"""Memory that the processes of a node share: one file without a name, which each of them maps.

The file comes from memfd_create, which is not bound by the size of /dev/shm (64 MB in a container that asks for nothing),
and the others open it through /proc.  Where that is refused it is a file in /dev/shm, whose name is gone as soon as all
have opened it.  Either way a killed job leaves nothing behind.

The memory stays mapped as long as an array of it lives, also after the team's end.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import secrets
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..errors import Unsupported
from ..units import size_text

PAGE_BYTES = mmap.PAGESIZE
_NO_FILE = -1
_REFUSED = (errno.ENOSYS, errno.EPERM, errno.EACCES, errno.ENOENT, errno.ESRCH, errno.EXDEV)  # a file may do instead
_MADV_REMOVE, _MAP_FAILED = 9, ctypes.c_void_p(-1).value
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


Gather = Callable[[Any], list[Any]]  # gives what every PE of the team passes, in order of PE.  Collective


class Problem(NamedTuple):
    """Why a PE could not do its part.  refused: the system does not allow it at all; text: in words, with the remedy"""

    text: str
    refused: bool


def room_bytes() -> int:
    """Bytes of memory that the processes of this node may still take, as far as the system and its cgroup report."""
    room = [_field("/proc/meminfo", "MemAvailable:") or 1 << 62]
    for folder, limit, used in (
        ("/sys/fs/cgroup", "memory.max", "memory.current"),
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        most, now = (_number(f"{folder}/{name}") for name in (limit, used))
        if most is not None and now is not None:
            cached = _field(f"{folder}/memory.stat", "inactive_file") or 0  # the kernel drops it first
            room.append(max(0, most - now + cached))
    return min(room)


def _number(path: str) -> int | None:
    try:
        with open(path) as file:
            return int(file.read())
    except (OSError, ValueError):  # no such file, or "max"
        return None


def _field(path: str, name: str) -> int | None:
    """The number after ``name`` in a file of lines "name number [kB]", in bytes."""
    try:
        with open(path) as file:
            for line in file:
                words = line.split()
                if words[:1] == [name]:
                    return int(words[1]) << (10 if words[2:] == ["kB"] else 0)
    except (OSError, ValueError, IndexError):
        pass
    return None


class SharedMemory:
    """``part_bytes`` bytes of zeros for each of ``pes``, which all of them map.  Making it is collective over the team.

    gather:  over the team;  me: this PE's rank in it;  pes: the ranks of the PEs of this node, in order
    what:    names the memory in messages
    whole:   take all pages now; else ``reserve`` must be called before a page is written

    part_bytes: of one PE, a multiple of the page size;  nbytes: of all
    addresses:  of each part in this process, in the order of ``pes``;  address: of this PE's part
    buffer:     the bytes of all parts.  Arrays over it keep it mapped
    Raises Unsupported on every PE of the team if one of them can't make or map it.
    """

    def __init__(self, gather: Gather, me: int, pes: Sequence[int], part_bytes: int, what: str, whole: bool = True):
        self.part_bytes = max(1, -(-part_bytes // PAGE_BYTES)) * PAGE_BYTES
        self.nbytes, self.what = self.part_bytes * len(pes), what
        self._fd = _NO_FILE
        errors = self._open(gather, me, pes[0], _anonymous, whole)
        if any(errors) and all(error.refused for error in errors if error):
            errors = self._open(gather, me, pes[0], _named, whole)
        if any(errors):
            self.close()
            pe, error = next((pe, error) for pe, error in enumerate(errors) if error)
            raise Unsupported(f"PE {pe} can't have {what}, {size_text(self.nbytes)} that its node shares: {error.text}")
        base, number = ctypes.addressof(self.buffer), list(pes).index(me)
        self.addresses = [base + self.part_bytes * k for k in range(len(pes))]
        self._start, self.address = self.part_bytes * number, self.addresses[number]
        if whole:
            os.close(self._fd)
            self._fd = _NO_FILE

    def _open(
        self, gather: Gather, me: int, creator: int, make: Callable[[], tuple[int, str]], whole: bool
    ) -> list[Problem | None]:
        """Make, open and map the file in one of the two ways.  Returns the problem of each PE.  Collective."""
        made: tuple[str, tuple[int, int]] | None = None
        path, problem = "", None
        if me == creator:
            try:
                self._fd, path = make()
                os.ftruncate(self._fd, self.nbytes)
                if whole:
                    os.posix_fallocate(self._fd, 0, self.nbytes)
                made = path or f"/proc/{os.getpid()}/fd/{self._fd}", _identity(self._fd)
            except OSError as error:
                problem = problem_of(error)
        answers = gather((made, problem))
        problems = [one for _, one in answers]
        if not any(problems):
            try:
                self._map(*answers[creator][0])
            except OSError as error:
                problem = problem_of(error)
            problems = gather(problem)  # by now all have opened it
        if path:
            os.unlink(path)
        if any(problems):
            self.close()
        return problems

    def _map(self, path: str, identity: tuple[int, int]) -> None:
        """Open the file, unless this PE made it, and map it.  Raises OSError."""
        if self._fd == _NO_FILE:
            links = 0 if path.startswith("/proc/") else os.O_NOFOLLOW
            self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | links)
            if _identity(self._fd) != identity:
                raise OSError(errno.EXDEV, "its processes see different files under one name")
        address = _libc.mmap(None, self.nbytes, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, self._fd, 0)
        if address == _MAP_FAILED:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        # Not by Python's mmap, which keeps a file descriptor for as long as it lives.
        self.buffer = (ctypes.c_byte * self.nbytes).from_address(address)
        weakref.finalize(self.buffer, _libc.munmap, address, self.nbytes).atexit = False

    def reserve(self, start: int, nbytes: int) -> Problem | None:
        """Take the pages of ``nbytes`` bytes from offset ``start`` of this PE's part.  Returns the problem, if any.

        A page that can't be had when it is written first ends the process by SIGBUS, so none is left to chance.
        """
        try:
            os.posix_fallocate(self._fd, self._start + start, nbytes)
        except OSError as error:
            return problem_of(error)
        return None

    def discard(self, start: int, nbytes: int) -> None:
        """Give pages of this PE's part back, from offset ``start``; from then on they hold zeros."""
        first, last = -(-start // PAGE_BYTES) * PAGE_BYTES, (start + nbytes) // PAGE_BYTES * PAGE_BYTES
        if first < last:
            _libc.madvise(self.address + first, last - first, _MADV_REMOVE)

    def close(self) -> None:
        """Unmap the memory as soon as no array over it lives."""
        if self._fd != _NO_FILE:
            os.close(self._fd)
            self._fd = _NO_FILE
        self.__dict__.pop("buffer", None)


def problem_of(error: OSError) -> Problem:
    """The message for an error, with the remedy."""
    text = error.strerror or str(error)
    if error.errno in (errno.EMFILE, errno.ENFILE):
        text += "; close some, finalize teams, or raise the limit (ulimit -n)"
    elif error.errno == errno.ENOSPC:
        text += f" ({describe_room()}); ask for less memory, or give the container more (docker run --shm-size=...)"
    elif error.errno == errno.ENOMEM:
        text += f" ({describe_room()}); ask for less memory, or raise the limit (ulimit -v)"
    elif error.errno == errno.EFBIG:
        text += "; raise the limit (ulimit -f)"
    return Problem(text, error.errno in _REFUSED)


def describe_room() -> str:
    """What is free of the node's memory and of /dev/shm, in words."""
    try:
        room = os.statvfs("/dev/shm")
        free, whole = size_text(room.f_bavail * room.f_frsize), size_text(room.f_blocks * room.f_frsize)
        shm = f"/dev/shm has {free} of {whole} free"
    except OSError:
        shm = "there is no /dev/shm"
    return f"{shm}, the node {size_text(room_bytes())} of memory"


def _anonymous() -> tuple[int, str]:
    if not hasattr(os, "memfd_create"):
        raise OSError(errno.ENOSYS, "the C library has no memfd_create")
    return os.memfd_create("pennympi", os.MFD_CLOEXEC), ""


def _named() -> tuple[int, str]:
    path = f"/dev/shm/pennympi-{secrets.token_hex(8)}"
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), path


def _identity(fd: int) -> tuple[int, int]:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino
