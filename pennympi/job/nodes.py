"""The nodes: groups of processes that can map each other's memory, which is tested.

Linux lets a process open the memory of another process by /proc/PID/fd only if it may trace it.  Containers without root
(Apptainer, Podman) can give each process its own user namespace, from which it may not.
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
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)  # reported later, when the memory of the team is made
_NO_FILE = -1


def divided(processes: Sequence[Process], me: int, gather: Callable[[Any], list[Any]]) -> list[Process]:
    """The processes; those that can't map memory of their node's first PE get a node with another name.  Collective."""
    with _piece() as piece:
        pieces = gather(piece)
        node_pes = [pe for pe, process in enumerate(processes) if pe != me and process.node == processes[me].node]
        reached = gather({pe for pe in node_pes if _maps(processes[pe].pid, *pieces[pe])})
    return named_apart(processes, reached)


def named_apart(processes: Sequence[Process], reached: Sequence[Set[int]]) -> list[Process]:
    """The processes in nodes whose first PE all others reach.  reached: the PEs whose memory each PE can map"""
    firsts: dict[str, list[int]] = {}  # {name of a node: first PEs of the nodes into which it is divided}
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
    """A piece of memory: its descriptor, or NO_FILE if it can't be made, and its content."""
    mark, fd = os.urandom(_MARK_BYTES), _NO_FILE
    try:
        fd = os.memfd_create("pennympi", os.MFD_CLOEXEC)
        os.write(fd, mark)
    except OSError:
        pass  # the reason is reported later, when the memory of the team is made
    try:
        yield fd, mark
    finally:
        if fd != _NO_FILE:
            os.close(fd)


def _maps(pid: int, fd: int, mark: bytes) -> bool:
    """Whether this process can map a piece of another process and finds its content."""
    try:
        with open(f"/proc/{pid}/fd/{fd}", "r+b", buffering=0) as file, mmap.mmap(file.fileno(), _MARK_BYTES) as memory:
            return memory[:] == mark
    except OSError as error:
        return fd == _NO_FILE or error.errno in _EXHAUSTED
    except ValueError:  # it is a shorter file of an unrelated process
        return False
