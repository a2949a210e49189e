"""The other PEs of a team: pointers inside a node, MPI between nodes, and the words of ``ctx`` about PEs."""

import ctypes
import os
import threading
from collections.abc import Sequence

import numpy as np

from ...arrays.array_view import ArrayView
from ...compile import context as ctx_words
from ...compile.context import UNREACHABLE
from ...errors import PennympiError, recorded_failure
from ...job import liveness
from ...job.job import Job, open_jobs
from ...job.process import Process
from ...settings import setting
from ...units import counted
from ...wall_time import timed
from ..device import interrupts
from ..device.waits import SPINS_BEFORE_SLEEP, SPINS_WHERE_CORES_ARE_SHARED
from . import network
from .heap import Heap


def shared_cores(processes: Sequence[Process], affinities: Sequence[set[int]]) -> str:
    """A text such as "16 PEs share 2 cores" about the first machine where PEs share cores; "" if each PE has a core."""
    for machine in dict.fromkeys(process.machine for process in processes):
        own = [cores for process, cores in zip(processes, affinities, strict=True) if process.machine == machine]
        n_cores = len(set().union(*own))
        if len(own) > n_cores:
            return f"{len(own)} PEs share {counted(n_cores, 'core')}"
    return ""


class Peers:
    """See ``pennympi.backend.Peers``.

    shared:     see ``pennympi.backend.Backend``
    ctx:        the words that kernels of this team read (``compile/context.py``);  ctx_address: address of ctx
    calls:      lock of the thread that runs a kernel, since all threads share ``ctx``
    call_names: {number of a call in the record of a timeout: its name}
    """

    needs_scratch = ll128_safe = ll128_in_nodes = stores = True

    def __init__(self, job: Job, heap: Heap):
        self._control = job.control
        offsets = [None if offset == UNREACHABLE else offset for offset in heap.peer_offsets]
        self.offsets: Sequence[int | None] = offsets
        self.by_pointer: Sequence[bool] = [offset is not None for offset in self.offsets]
        self.calls, self.call_names = threading.Lock(), dict[int, str]()
        self._record = np.zeros(ctx_words.RECORD_WORDS, np.int64)
        self._record[ctx_words.RECORD_ME] = job.me
        self._timeout_s: float = setting("PENNYMPI_TIMEOUT_S")
        affinities = job.gather(os.sched_getaffinity(0), "count of cores")
        self.shared = shared_cores(job.control.processes, affinities)
        cores = set().union(*(affinities[pe] for pe in job.control.machine_pes))
        running = max(len(job.control.machine_pes) for job in open_jobs)  # PEs of other teams use the same cores
        self._alive = np.array([job.control.last_alive_address(pe) for pe in range(job.n_pes)], np.int64)
        self.ctx = ctx = np.zeros(ctx_words.PEER_OFFSETS + job.n_pes, np.int64)
        self.ctx_address = ctx.ctypes.data
        ctx[ctx_words.ME], ctx[ctx_words.N_PES] = job.me, job.n_pes
        ctx[ctx_words.TIMEOUT_NS] = int(self._timeout_s * 1e9)
        ctx[ctx_words.PATIENCE] = SPINS_BEFORE_SLEEP if len(cores) >= running else SPINS_WHERE_CORES_ARE_SHARED
        ctx[ctx_words.RECORD], ctx[ctx_words.ABORT] = self._record.ctypes.data, liveness.monitor_words_address
        ctx[ctx_words.SIGNALS] = interrupts.address
        ctx[ctx_words.ALIVE], ctx[ctx_words.OWN_ALIVE] = self._alive.ctypes.data, liveness.own_words_address
        ctx[ctx_words.PEER_OFFSETS :] = heap.peer_offsets
        self._channel = None
        if not all(self.by_pointer):
            with timed("channel to other nodes"):
                self._channel = network.Channel(job, heap.base)
            ctx[ctx_words.NETWORK] = self._channel.address
            ctx[ctx_words.SEND], ctx[ctx_words.GET] = network.address_of("send"), network.address_of("get")
            ctx[ctx_words.PROGRESS] = network.address_of("progress")
        # The primitives of multicast read the peers' memory through pointers.
        self.multicast = bool(setting("PENNYMPI_MULTICAST")) and self._channel is None

    def failure(self) -> PennympiError | None:
        """The error of the first wait on this PE that gave up, or None.

        Raises the exception of a signal handler that ended the wait, the first time.
        """
        interrupts.raise_kept()
        record = ctx_words.read_record(self._record, self.call_names)
        if record is None:
            return None
        error = recorded_failure(record, self._timeout_s, self._control.find, self._control.on_host)
        if self._channel and (message := self._channel.failure()):
            error.add_note(f"MPI: {message}")
        return error

    def put(self, dst: int, src: int, nbytes: int, pe: int, stream: int) -> bool:
        """Return False: kernels make all puts."""
        return False

    get = put

    def copy(self, address: int, nbytes: int, pe: int, stream: int) -> None:
        offset = self.offsets[pe]
        if offset is None:
            network.send(self.ctx_address, address, nbytes, pe)
        else:
            ctypes.memmove(address + offset, address, nbytes)

    def quiet(self, stream: int) -> None:
        """Do nothing: a put has ended when its call returns."""

    def register(self, view: ArrayView) -> None:
        """Do nothing: a put may start from any memory."""

    unregister = register

    def describe(self) -> list[tuple[str, str]]:
        reach = f" of the node's {self._control.n_local} PEs, and MPI to the others" if self._channel else ", all to all"
        return [("links", f"shared memory{reach}")]

    def close(self) -> None:
        if self._channel:
            self._channel.close()
