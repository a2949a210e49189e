"""One interface to the arrays and devices of NumPy and CuPy."""

import os
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI


def array_module(team: Any) -> Any:
    """The module of the team's arrays: numpy or cupy."""
    if team.backend == "cuda":
        import cupy

        return cupy
    return np


def to_numpy(x: Any) -> np.ndarray:
    """The array as a NumPy array: a copy of a CuPy array, or the array itself."""
    return x.get() if hasattr(x, "get") else x


def address(x: Any) -> int:
    """Address of the first element of an array."""
    return x.ctypes.data if isinstance(x, np.ndarray) else x.data.ptr


class Processors(NamedTuple):
    """The processors of a team.  kind: "GPU" or "core" """

    kind: str
    number: int


def processors(team: Any) -> Processors:
    """The processors of all PEs of a team.  Collective."""
    is_gpu, host = team.backend == "cuda", MPI.Get_processor_name()
    own = {array_module(team).cuda.Device().pci_bus_id} if is_gpu else os.sched_getaffinity(0)
    of_team = {(name, processor) for name, of_pe in team.gather((host, own)) for processor in of_pe}
    return Processors("GPU" if is_gpu else "core", len(of_team))


def free_bytes(team: Any) -> int:
    """Free memory of this PE's device, in bytes."""
    if team.backend == "cuda":
        return int(array_module(team).cuda.runtime.memGetInfo()[0])
    with open("/proc/meminfo") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith("MemAvailable:"))


class Readback:
    """A copy of a small device array to the host, in stream order, while the host continues."""

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
        """Wait for the copy, and return it.  The next ``start`` overwrites it."""
        assert self._event is not None
        self._event.synchronize()
        return self._host


def named_range(team: Any, name: str) -> Any:
    """A context manager that gives the work inside it a name in the time line of Nsight Systems, on a GPU."""
    if team.backend == "host":
        return nullcontext()
    from cupyx.profiler import time_range

    return time_range(name)


def multiprocessors(team: Any) -> int:
    """Number of multiprocessors of this PE's GPU."""
    return int(array_module(team).cuda.Device().attributes["MultiProcessorCount"])
