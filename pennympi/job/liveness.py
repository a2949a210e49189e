"""Signs of life: when each process of the node last did something with the library, on whatever team.

Every team has a table (control.py) with a word for each of its PEs; a process writes the time into its own word of
all its teams' tables, so that a PE that is busy on one team is seen to be alive by those who wait for it on another.
Times are of CLOCK_MONOTONIC, which the processes of a node share.

A PE that waits hands on the time of the PE that it waits for, never the time of its waiting: a chain of PEs lives as
long as its end does, and PEs that wait for one another in a circle, or for one that is stopped, show nothing new.
"""

from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .control import Control

FOR_EVER_NS = 1 << 62
MOST_TEAMS = 4096  # of a process at a time: more than MPI has communicators for
# How many words this process has, then their addresses; kernels of the host backend read it too.
_own = np.zeros(1 + MOST_TEAMS, np.int64)
own_address: int = _own.ctypes.data
_lock = threading.Lock()  # a watchdog must not write into a table that is given back


def open_word(address: int) -> None:
    """From now on the word at ``address`` shows this process's signs of life."""
    with _lock:
        _own[1 + _own[0]] = address
        _own[0] += 1


def close_word(address: int) -> None:
    """Undo ``open_word``."""
    with _lock:
        n = int(_own[0])
        at = 1 + int(np.flatnonzero(_own[1 : 1 + n] == address)[0])
        _own[at] = _own[n]
        _own[0] = n - 1


def show(time_ns: int) -> None:
    """This process was alive at ``time_ns``; nothing where a later time is shown."""
    with _lock:
        for address in _own[1 : 1 + int(_own[0])]:
            word = ctypes.c_int64.from_address(int(address))
            word.value = max(word.value, time_ns)


class Pulse:
    """What a device's kernels know of signs of life: words that the device reads.

    words: (1 + n_pes,) int64: 1 + the PE that a kernel waits for, or 0; then of each PE how long it has been silent
    (ns; for ever, if it is on another node)
    """

    def __init__(self, control: Control, words: Any):
        self._control, self._words, self._done = control, words, -1
        words[:] = FOR_EVER_NS
        words[0] = words[[1 + pe for pe in control.pes]] = 0

    def beat(self, done: int, now_ns: int) -> None:
        """Called every 0.1 s; done: how much this PE has done so far, a number that grows."""
        if done != self._done:
            self._done = done
            show(now_ns)
        source = int(self._words[0])
        if source:
            self._words[0] = 0  # a kernel that still waits writes it again
            show(self._control.life(source - 1))
        for pe in self._control.pes:
            self._words[1 + pe] = now_ns - self._control.life(pe)
