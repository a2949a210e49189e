"""A team's channel to PEs of other nodes: MPI's handles, slots and words for the compiled functions of remote.py.

A thread of the process receives while the program computes.
"""

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI
from numba import types

from ...job.exits import before_mpi_ends
from ...job.job import Job
from ...once import once
from ...state import state
from ..device import receive, remote
from ..device.numba_cpu import OPTIONS
from .compile import Loaded, c_function

MOST_CHANNELS = 4096
STATUS_BYTES = 2 * remote.IN_STATUS
I64 = types.int64
FUNCTIONS: dict[str, tuple[Callable[..., None], Any]] = {
    "send": (remote.send, types.void(*(I64,) * 7)),
    "get": (remote.get, types.void(*(I64,) * 7)),
    "progress": (receive.progress, I64(I64)),
    "serve": (receive.serve, types.void(I64)),
    "begin": (receive.begin, types.void(I64, I64)),
    "end": (receive.end, types.void(I64, I64)),
}


@once
def _compiled(name: str) -> Loaded:
    plain, signature = FUNCTIONS[name]
    return c_function(f"network_{name}", signature, lambda: plain, **OPTIONS)


def address_of(name: str) -> int:
    """Address of a compiled function of FUNCTIONS.  The code lives as long as the process."""
    return _compiled(name).address


@once
def callable_of(name: str) -> Callable[..., None]:
    """A compiled function of FUNCTIONS for Python, which lets other threads run during a call."""
    arguments = (ctypes.c_int64,) * len(FUNCTIONS[name][1].args)
    function: Callable[..., None] = ctypes.CFUNCTYPE(None, *arguments)(address_of(name))
    return function


class _Process:
    """The words and the receiving thread, which all channels of this process share."""

    def __init__(self) -> None:
        self.mpi = ctypes.CDLL(MPI.__file__)
        self.words = np.zeros(remote.CHANNELS + MOST_CHANNELS, np.int64)
        for word, name in (
            (remote.ISEND, "Isend"),
            (remote.IRECV, "Irecv"),
            (remote.TEST, "Test"),
            (remote.TESTANY, "Testany"),
        ):
            self.words[word] = ctypes.cast(getattr(self.mpi, f"MPI_{name}"), ctypes.c_void_p).value or 0
        self.address = self.words.ctypes.data
        self.open: list[Channel] = []
        before_mpi_ends.append(self._stop)
        serve = callable_of("serve")
        self._thread = threading.Thread(target=serve, args=(self.address,), name="pennympi receiver", daemon=True)
        self._thread.start()

    def _stop(self) -> None:
        """End the thread, and cancel the receives of teams that are still open."""
        self.words[remote.STOP] = 1
        self._thread.join()
        while self.open:
            self.open.pop().cancel()


def _process() -> _Process:
    state.network = state.network or _Process()
    network: _Process = state.network
    return network


class Channel:
    """The channel of a team.  The constructor is collective.

    base: address of this PE's part of the symmetric heap;  address: address of the channel's words
    """

    def __init__(self, job: Job, base: int):
        self._process, self._job = _process(), job
        self._words = words = np.zeros(remote.CHANNEL_WORDS, np.int64)
        self.address = words.ctypes.data
        bases = job.gather(base, "start of a channel between nodes")
        self._sources = [pe for pe in range(job.n_pes) if pe not in job.control.pes]
        n_remote, null = len(self._sources), MPI.REQUEST_NULL
        self._requests = np.full(2 * n_remote + remote.N_SLOTS + 1, _handle(null), f"u{MPI._sizeof(null)}")
        for word, value in {
            remote.PROCESS: self._process.address,
            remote.COMM: _handle(job.comm),
            remote.BYTE: _handle(MPI.BYTE),
            remote.REQUEST_BYTES: self._requests.itemsize,
            remote.N_SOURCES: n_remote,
        }.items():
            words[word] = value
        self._in = np.zeros((n_remote, remote.SLOT_BYTES), np.uint8)
        self._arrays = {
            remote.STATUS: np.zeros(STATUS_BYTES, np.uint8),
            remote.IN: self._in,
            remote.IN_REQUESTS: self._requests,
            remote.SOURCES: np.array(self._sources, np.int64),
            remote.ANSWERS: self._requests[n_remote:],
            remote.OUT: np.zeros((remote.N_SLOTS, remote.SLOT_BYTES), np.uint8),
            remote.OUT_REQUESTS: self._requests[2 * n_remote :],
            remote.LARGE_REQUEST: self._requests[-1:],
            remote.MOVED: np.array(bases, np.int64) - base,
        }
        for word, array in self._arrays.items():
            words[word] = array.ctypes.data
        callable_of("begin")(self._process.address, self.address)
        self._process.open.append(self)
        job.rendezvous("start of a channel between nodes")  # no PE may send before

    def failure(self) -> str:
        """MPI's message of the last send or receive that failed, "" if none failed."""
        code = int(self._words[remote.FAILED])
        return MPI.Get_error_string(code) if code else ""

    def close(self) -> None:
        """End the channel after the last message of each PE.  Collective, after the last call.  Raises PeerTimeout.

        MPI would deliver later messages to the next team, whose communicator may have the same number.
        """
        last = np.zeros(remote.HEAD_BYTES // 8, np.int64)
        last[remote.KIND // 8] = remote.LAST
        sends = [self._job.comm.Isend([last, MPI.BYTE], pe, remote.TAG) for pe in self._sources]
        self._job.wait(lambda: not self._absent(), self._absent, "finalize")
        callable_of("end")(self._process.address, self.address)
        sends += map(MPI.Request.fromhandle, self._requests.tolist())
        self._job.wait(lambda: MPI.Request.Testall(sends), lambda: self._sources, "finalize")
        self._process.open.remove(self)

    def _absent(self) -> list[int]:
        """The PEs whose last message has not arrived."""
        kinds = self._in.view(np.int64)[:, remote.KIND // 8]
        return [pe for pe, kind in zip(self._sources, kinds, strict=True) if kind != remote.ENDED]

    def cancel(self) -> None:
        """Cancel the receives of this PE, before MPI ends."""
        for request in map(MPI.Request.fromhandle, self._requests[: len(self._sources)].tolist()):
            if request:
                request.Cancel()
                request.Wait()


def send(ctx_address: int, address: int, nbytes: int, pe: int) -> None:
    """Put symmetric memory to its instance on a PE of another node."""
    callable_of("send")(ctx_address, address, address, nbytes, 0, 0, pe)


def _handle(handle: Any) -> int:
    """An MPI handle as the int64 that C code gets."""
    return ctypes.c_int64(MPI._handleof(handle)).value
