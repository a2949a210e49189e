"""Signs of life: the time of the last call of the library that each process of the node has made, on any team.

Every team has a table (control.py) with a word for each PE.  A process writes the time of its last call into its words
in the tables of all its teams, so that a PE that is busy with one team is seen to be alive by the others.  Times are in
ns of CLOCK_MONOTONIC, which the processes of a node share.

A PE that waits writes the time of the PE that it waits for, and not the time of its own waiting.  So all PEs of a chain
of waiting PEs are alive as long as the last PE of the chain is.  PEs that wait for each other in a circle, or for a
stopped PE, show no new time, and their waits end.
"""

import ctypes
import threading

import numpy as np

WAITS_FOR, LOOKED = 1, 2  # indices, from a PE's own word, of the PE that it waits for, and of its last look at the clock
MAX_TEAMS = 4096  # most open teams of a process; MPI has fewer communicators
_own_words = np.zeros(1 + MAX_TEAMS, np.int64)  # number of words that this process owns, and their addresses
own_words_address: int = _own_words.ctypes.data
# Words that the monitor (monitor.py) writes for all waits of this process: the time of its last tick, and the time at
# which this process resumed after a suspension.  A deadline counts no earlier time, and no time before the first tick.
TICKED_NS, RESUMED_NS = range(2)
NEVER_NS = 1 << 62
LATE_NS = 1_000_000_000  # a tick that is later than this shows that the process was suspended
monitor_words = np.array([NEVER_NS, 0], np.int64)
monitor_words_address: int = monitor_words.ctypes.data
_lock = threading.Lock()  # the monitor must not write into a table that has been freed


def add_word(address: int) -> None:
    """Show this process's signs of life in the int64 word at ``address`` from now on."""
    with _lock:
        _own_words[1 + _own_words[0]] = address
        _own_words[0] += 1


def remove_word(address: int) -> None:
    """Undo ``add_word``."""
    with _lock:
        last = _own_words[0]
        _own_words[1:last][_own_words[1:last] == address] = _own_words[last]
        _own_words[0] = last - 1


def show_alive(time_ns: int) -> None:
    """Record that this process was alive at ``time_ns``, unless its words show a later time."""
    with _lock:
        for address in _own_words[1 : 1 + _own_words[0]].tolist():
            word = ctypes.c_int64.from_address(address)
            word.value = max(word.value, time_ns)
