"""Which processes make up a node: those that can map one another's memory, which each of them tries.

The kernel lets a process open the memory of another one by /proc/PID/fd only where it may trace it.  Containers without
root (Apptainer, Podman) can give each process a user namespace of its own, from which it may not.
"""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from typing import Any

from .process import Process

_MARK_BYTES = 16
_NONE_LEFT = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)  # reported where the memory of the team is made
_NO_FILE = -1


def divided(processes: Sequence[Process], me: int, gather: Callable[[Any], list[Any]]) -> list[Process]:
    """The processes, those that can't map memory of their node's first PE with a node of another name.  Collective."""
    with _piece() as piece:
        pieces = gather(piece)
        near = [pe for pe, process in enumerate(processes) if pe != me and process.node == processes[me].node]
        reached = gather({pe for pe in near if _maps(processes[pe].pid, *pieces[pe])})
    return named_apart(processes, reached)


def named_apart(processes: Sequence[Process], reached: Sequence[Set[int]]) -> list[Process]:
    """The processes in nodes whose first PE all others reach.  reached: the PEs whose memory each PE can map"""
    firsts: dict[str, list[int]] = {}  # of the nodes that one has become, by its name
    result = []
    for pe, process in enumerate(processes):
        known = firsts.setdefault(process.node, [])
        first = next((first for first in known if first in reached[pe]), pe)
        if first == pe:
            known.append(pe)
        result.append(process if first == known[0] else process._replace(node=f"{process.node}; with PE {first}"))
    return result


@contextmanager
def _piece() -> Iterator[tuple[int, bytes]]:
    """A piece of memory: its descriptor, NO_FILE where none can be made, and what it holds."""
    mark, fd = os.urandom(_MARK_BYTES), _NO_FILE
    try:
        fd = os.memfd_create("pennympi", os.MFD_CLOEXEC)
        os.write(fd, mark)
    except OSError:
        pass  # the reason is reported where the memory of the team is made
    try:
        yield fd, mark
    finally:
        if fd != _NO_FILE:
            os.close(fd)


def _maps(pid: int, fd: int, mark: bytes) -> bool:
    """Whether this process can map the piece of another one, and finds there what it holds."""
    try:
        with open(f"/proc/{pid}/fd/{fd}", "r+b", buffering=0) as file, mmap.mmap(file.fileno(), _MARK_BYTES) as memory:
            return memory[:] == mark
    except OSError as error:
        return fd == _NO_FILE or error.errno in _NONE_LEFT
    except ValueError:  # a file that is shorter, of another process
        return False
