"""Memory that the processes of a node share: a file of memfd_create, which each process opens through /proc and maps.

The file has no name and is not limited by the size of /dev/shm, so a killed job leaves nothing.  It stays mapped as long
as an array over it lives, also after the team's end.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import Unsupported
from ..units import size_text
from .memory_room import room_bytes

PAGE_BYTES = mmap.PAGESIZE
_NO_FILE = -1
Gather = Callable[[Any], list[Any]]  # returns what every PE of the team passes, in order of PE.  Collective


class SharedMemory:
    """``part_bytes`` bytes of zeros for each of ``pes``, which all of them map.  The constructor is collective.

    gather:  gathers over the team;  me: this PE's rank in the team;  pes: ranks of the PEs of this node, in order
    what:    name of the memory in messages
    whole:   take all pages at once; else ``reserve`` must be called before a page is written

    part_bytes: size of a PE's part, a multiple of the page size;  nbytes: size of all parts
    addresses:  addresses of the parts in this process, in the order of ``pes``;  address: address of this PE's part
    buffer:     the bytes of all parts.  Arrays over it keep it mapped
    Raises Unsupported on every PE of the team if a PE can't make or map the memory.
    """

    def __init__(self, gather: Gather, me: int, pes: Sequence[int], part_bytes: int, what: str, whole: bool = True):
        self.part_bytes = max(1, -(-part_bytes // PAGE_BYTES)) * PAGE_BYTES
        self.nbytes, self.what = self.part_bytes * len(pes), what
        self._gather, self._fd = gather, _NO_FILE
        paths = self._on_all(lambda: self._make(whole) if me == pes[0] else "")
        self._on_all(lambda: self._map(paths[pes[0]]))
        base, number = ctypes.addressof(ctypes.c_byte.from_buffer(self.buffer)), list(pes).index(me)
        self.addresses = [base + self.part_bytes * k for k in range(len(pes))]
        self._start, self.address = self.part_bytes * number, self.addresses[number]
        if whole:
            self._close_file()

    def _on_all(self, step: Callable[[], str]) -> list[str]:
        """The results of ``step`` on all PEs.  Collective.  Raises Unsupported on every PE if ``step`` fails on a PE."""
        result = problem = ""
        try:
            result = step()
        except OSError as error:
            problem = problem_of(error)
        results = self._gather((result, problem))
        for pe, (_, problem) in enumerate(results):
            if problem:
                self.close()
                size = size_text(self.nbytes)
                raise Unsupported(f"PE {pe} can't have {self.what}, {size} that its node shares: {problem}")
        return [result for result, _ in results]

    def _make(self, whole: bool) -> str:
        """Make the file.  Returns the path by which the other PEs open it."""
        self._fd = os.memfd_create("pennympi", os.MFD_CLOEXEC)
        os.ftruncate(self._fd, self.nbytes)
        if whole:
            os.posix_fallocate(self._fd, 0, self.nbytes)
        return f"/proc/{os.getpid()}/fd/{self._fd}"

    def _map(self, path: str) -> str:
        if self._fd == _NO_FILE:
            self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self.buffer = mmap.mmap(self._fd, self.nbytes)
        return ""

    def reserve(self, start: int, nbytes: int) -> str | None:
        """Take the pages of ``nbytes`` bytes from offset ``start`` of this PE's part.  Returns the problem, if any.

        A write to a page that was not taken ends the process by SIGBUS if no memory is left.
        """
        try:
            os.posix_fallocate(self._fd, self._start + start, nbytes)
        except OSError as error:
            return problem_of(error)
        return None

    def discard(self, start: int, nbytes: int) -> None:
        """Free pages of this PE's part from offset ``start``; from then on they hold zeros."""
        first, last = -(-start // PAGE_BYTES) * PAGE_BYTES, (start + nbytes) // PAGE_BYTES * PAGE_BYTES
        if first < last:
            self.buffer.madvise(mmap.MADV_REMOVE, self._start + first, last - first)

    def close(self) -> None:
        """Unmap the memory as soon as no array over it lives."""
        self._close_file()
        self.__dict__.pop("buffer", None)

    def _close_file(self) -> None:
        if self._fd != _NO_FILE:
            os.close(self._fd)
            self._fd = _NO_FILE


def problem_of(error: OSError) -> str:
    """A text about an error, with the remedy."""
    text, room = error.strerror or str(error), f" (the node has {size_text(room_bytes())} of memory free)"
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return f"{text}; close some, finalize teams, or raise the limit (ulimit -n)"
    if error.errno == errno.ENOSPC:
        return f"{text}{room}; ask for less memory"
    if error.errno == errno.ENOMEM:
        return f"{text}{room}; ask for less memory, or raise the limit (ulimit -v)"
    return f"{text}; raise the limit (ulimit -f)" if error.errno == errno.EFBIG else text
