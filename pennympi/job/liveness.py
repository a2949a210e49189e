"""Signs of life: when each process of the node last made a call of the library, on whatever team.

Every team has a table (control.py) with one word for each PE.  A process writes the time of its last call into its own
word in the tables of all its teams, so that a PE that is busy on one team is seen to be alive on the others.
Times are in ns of CLOCK_MONOTONIC, which the processes of a node share.

A PE that waits writes the time of the PE that it waits for, never the time of its own waiting.  So a chain of waiting
PEs is alive as long as the PE at its end is.  PEs that wait for one another in a circle, or for a stopped PE, show no
new time, and their waits end.
"""

import ctypes
import threading

import numpy as np

WAITS_FOR, LOOKED = 1, 2  # words after a PE's own word: the PE that it waits for, and when it looked at the clock last
MAX_TEAMS = 4096  # open at a time in one process: more than MPI has communicators for
_own_words = np.zeros(1 + MAX_TEAMS, np.int64)  # the number of words that this process owns, and their addresses
own_words_address: int = _own_words.ctypes.data
# What the monitor (monitor.py) writes for all waits of this process: when it ticked last, and when this process went on
# after a suspension.  Time before that, and before the monitor's first tick, is not counted.
TICKED_NS, RESUMED_NS = range(2)
NEVER_NS = 1 << 62
LATE_NS = 1_000_000_000
monitor_words = np.array([NEVER_NS, 0], np.int64)
monitor_words_address: int = monitor_words.ctypes.data
_lock = threading.Lock()  # the monitor must not write into a table that has been freed


def add_word(address: int) -> None:
    """From now on the int64 word at ``address`` shows this process's signs of life."""
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
    """Write that this process was alive at ``time_ns``, unless its words show a later time."""
    with _lock:
        for address in _own_words[1 : 1 + _own_words[0]].tolist():
            word = ctypes.c_int64.from_address(address)
            word.value = max(word.value, time_ns)
