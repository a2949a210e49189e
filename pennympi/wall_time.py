"""The wall time of this process inside the library: imports, start, compilation, waiting for other PEs."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

WAITING = "waiting for other PEs"


class _Inside(threading.local):
    """The seconds of inner parts, for each part that this thread has begun."""

    def __init__(self) -> None:
        self.seconds: list[float] = []


_spent: dict[str, float] = {}
_inside = _Inside()


@contextmanager
def timed(part: str) -> Iterator[None]:
    """Add the wall time of the block to ``part``, without that of inner parts.  For set-up only, since it takes 2 us."""
    _spent.setdefault(part, 0.0)  # parts are listed in the order in which they first began
    _inside.seconds.append(0.0)
    begin = time.perf_counter()
    try:
        yield
    finally:
        whole_s = time.perf_counter() - begin
        _spent[part] += whole_s - _inside.seconds.pop()
        if _inside.seconds:
            _inside.seconds[-1] += whole_s


def timings() -> dict[str, float]:
    """Wall time in s of this process inside the library's set-up, by part.  Not collective.

    The parts do not overlap.  They are imports, the start of CUDA and NVSHMEM, the symmetric heap, compiling and loading
    kernels, and waiting for other PEs; the time in collectives, and in the program itself, is not among them.
    """
    return dict(_spent)
