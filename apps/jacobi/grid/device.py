"""The few things that differ between NumPy and CuPy arrays."""

import os
from typing import Any

import numpy as np


def array_module(team: Any) -> Any:
    """numpy or cupy, whichever the team's arrays belong to."""
    if team.backend == "cuda":
        import cupy

        return cupy
    return np


def to_numpy(x: Any) -> np.ndarray:
    """A NumPy copy (or the array itself on the host)."""
    return x.get() if hasattr(x, "get") else x


def address(x: Any) -> int:
    """Address of an array's first element."""
    return x.ctypes.data if isinstance(x, np.ndarray) else x.data.ptr


def free_bytes(team: Any) -> int:
    """Bytes that a new array may take on this PE's device."""
    if team.backend == "cuda":
        return int(array_module(team).cuda.runtime.memGetInfo()[0])
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


MAX_BLOCKS = 132 * 8  # eight to each multiprocessor of an H200


def launch_shape(team: Any, rows: int) -> tuple[int, int]:
    """(blocks, threads) for a sweep over so many rows; few rows get wide blocks."""
    if team.backend == "cuda":
        return min(rows, MAX_BLOCKS), 256 if rows > 2 else 512
    return 1, 32


class Readback:
    """Copies a small device array to the host behind a stream's work, without stopping it."""

    def __init__(self, team: Any, source: Any):
        self._source, self._cuda, self._event = source, team.backend == "cuda", None
        self._host = np.zeros(source.shape, source.dtype)
        if self._cuda:
            import cupyx

            self._host = cupyx.empty_pinned(source.shape, source.dtype)

    def start(self, stream: Any) -> None:
        """Enqueue the copy."""
        if self._cuda:
            self._source.get(stream=stream, out=self._host, blocking=False)
        else:
            self._host[...] = self._source
        self._event = stream.record(self._event)

    def wait(self) -> np.ndarray:
        """The copy, once it has arrived."""
        assert self._event is not None
        self._event.synchronize()
        return self._host


def multiprocessors(team: Any) -> int:
    """Of this PE's GPU."""
    return int(array_module(team).cuda.Device().attributes["MultiProcessorCount"])
