"""A line on stderr now and then while kernels are compiled, which can take a minute on the first run of a program."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

QUIET_S = 3.0  # of compiling, before the first line and between two lines
LABEL_CHARACTERS = 80

_speaks = True
_begun = 0  # kernels that this process has compiled, or waited for
_silent_s = 0.0  # of compiling since the last line


def announce_from_here(speaks: bool) -> None:
    """Say whether this process prints the lines: one of a node does."""
    global _speaks
    _speaks = speaks


@contextmanager
def announced(label: str) -> Iterator[None]:
    """Print a line in the course of the block, once QUIET_S of compiling have passed.  label: the kernel's name"""
    global _begun, _silent_s
    _begun += 1
    begin, said = time.monotonic(), threading.Event()
    timer = threading.Timer(max(0.0, QUIET_S - _silent_s), _say, (_begun, label, said))
    timer.daemon = True
    if _speaks:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
        _silent_s = 0.0 if said.is_set() else _silent_s + time.monotonic() - begin


def _say(number: int, label: str, said: threading.Event) -> None:
    said.set()
    text = f"compiling kernel {number}, {label[:LABEL_CHARACTERS]} (later runs take it from pennympi's cache)"
    try:
        print(text, file=sys.stderr, flush=True)
    except (OSError, ValueError):  # a closed stderr must not end the program
        pass
