"""The host backend: shared memory inside a node, MPI between nodes, NumPy arrays."""

import ctypes
import os
import platform
import threading
from collections.abc import Callable, Collection, Sequence
from itertools import cycle
from typing import Any

import numpy as np

from ..arrays.array_view import ArrayView
from ..arrays.dtypes import TABLE, DType
from ..compile import context as ctx_words
from ..compile.bind import parameters
from ..compile.context import UNREACHABLE
from ..compile.options import PLAIN, KernelOptions
from ..errors import PennympiError, Record, recorded_failure
from ..job import liveness
from ..job.job import open_jobs
from ..memory.order import Order
from ..settings import setting
from ..units import size_text
from ..wall_time import timed
from . import arrays, network, streams
from .compile import compiled
from .heap import Heap
from .launch import HostKernel
from .primitives import SPINS_BEFORE_SLEEP, SPINS_WHERE_CORES_ARE_SHARED

BYTE = TABLE["uint8"]


class HostBackend:
    """See ``pennympi.backend.Backend`` for the meaning of each member."""

    name = "host"
    bus_id = ""
    resident_blocks = 1
    max_blocks = 1  # blocks run one after another: more of them only cost
    buffer_bytes = 1 << 20
    threads = 1
    has_streams = False
    needs_scratch = True
    ll128_safe = ll128_in_nodes = stores = puts_from_anywhere = True

    def __init__(self, job: Any, heap_bytes: int | None):
        self.comm, self._near = job.comm, job.control.n_local
        self._find_call, self._where = job.control.find, job.control.on_host
        self.multicast: bool = setting("PENNYMPI_MULTICAST")
        self.device_name = processor()
        self._heap = Heap(job, heap_bytes)
        self._kept: dict[int, np.ndarray] = {}  # by address
        self.call_names: dict[int, str] = {}
        self._record = np.zeros(ctx_words.RECORD_WORDS, np.int64)
        self.timeout_s = setting("PENNYMPI_TIMEOUT_S")
        self.ctx = np.zeros(ctx_words.PEER_OFFSETS + self.comm.size, np.int64)
        self.ctx[ctx_words.ME], self.ctx[ctx_words.N_PES] = self.comm.rank, self.comm.size
        self.ctx[ctx_words.TIMEOUT_NS] = int(self.timeout_s * 1e9)
        affinities = job.gather(os.sched_getaffinity(0), "count of cores")
        cores = set().union(*(affinities[pe] for pe in job.control.pes))
        running = max(job.control.n_local for job in open_jobs)  # a row's PEs share the cores with other rows
        self.ctx[ctx_words.PATIENCE] = SPINS_BEFORE_SLEEP if len(cores) >= running else SPINS_WHERE_CORES_ARE_SHARED
        self.ctx[ctx_words.RECORD] = self._record.ctypes.data
        self._alive = np.array([job.control.last_alive_address(pe) for pe in range(self.comm.size)], np.int64)
        self._channel = None
        if UNREACHABLE in self._heap.peer_offsets:
            with timed("channel to other nodes"):
                self._channel = network.Channel(job, self._heap.base)
            self.ctx[ctx_words.NETWORK] = self._channel.address
            self.ctx[ctx_words.SEND], self.ctx[ctx_words.GET] = network.address_of("send"), network.address_of("get")
            self.ctx[ctx_words.PROGRESS] = network.address_of("progress")
            self.multicast = False  # it reads the peers' memory by pointers
        self.ctx[ctx_words.ALIVE], self.ctx[ctx_words.OWN_ALIVE] = self._alive.ctypes.data, liveness.own_words_address
        self.ctx[ctx_words.ABORT] = liveness.watch_words_address
        self.ctx[ctx_words.PEER_OFFSETS :] = self._heap.peer_offsets
        self.ctx_address = self.ctx.ctypes.data
        self.order: Order = streams.Unordered()
        self.calls = threading.Lock()  # held by the thread that runs a kernel: ``ctx`` is one for all

    # memory
    def allocate(self, nbytes: int) -> int:
        return self._heap.allocate(nbytes)

    def release(self, address: int) -> None:
        self._heap.release(address)

    def local_words(self, words: Sequence[int]) -> int:
        made = np.array(words, np.int64)
        self._kept[made.ctypes.data] = made
        return made.ctypes.data

    def free_words(self, address: int) -> None:
        del self._kept[address]

    def zero(self, address: int, nbytes: int) -> None:
        self._heap.view(address, (nbytes,), BYTE)[:] = 0

    def view(
        self, address: int, shape: tuple[int, ...], dtype: DType, strides: tuple[int, ...] | None = None
    ) -> np.ndarray:
        return self._heap.view(address, shape, dtype, strides)

    def copy_in(self, address: int, data: Any) -> None:
        data = np.ascontiguousarray(data)
        ctypes.memmove(address, data.ctypes.data, data.nbytes)

    def fill(self, view: np.ndarray, value: Any) -> None:
        view[...] = value

    def in_heap(self, address: int) -> bool:
        return any(heap.holds(address) for heap in Heap.of_teams)

    def taken(self, address: int) -> bool:
        return any(heap.taken(address) for heap in Heap.of_teams)

    def peer_offset(self, pe: int) -> int | None:
        return self._heap.peer_offsets[pe] if self.puts_by_pointer(pe) else None

    def puts_by_pointer(self, pe: int) -> bool:
        return self._heap.peer_offsets[pe] != UNREACHABLE

    array_view = staticmethod(arrays.array_view)  # called by every call: one frame less
    facts = staticmethod(arrays.facts)
    new = staticmethod(arrays.new)

    # kernels
    def kernel(self, kernel: Callable[..., Any], name: str, options: KernelOptions = PLAIN) -> HostKernel:
        # Constants stay arguments, and a reduction is a call through ``ctx``: one machine code serves all.
        residual = "residual" in parameters(kernel) and "residual" not in options.constants
        many_blocks = options.bounds is not None
        return HostKernel(self, compiled(kernel, options), name, options.reduction, residual, many_blocks)

    # streams
    def repeat(
        self, start: Callable[[Any], None], bodies: Sequence[Callable[[Any], None]], done: int
    ) -> Callable[[Any], None]:
        word = ctypes.c_int64.from_address(done)

        def run(stream: Any) -> None:
            start(stream)
            for body in cycle(bodies):
                body(stream)
                if word.value:
                    break

        return run

    def stream(self, priority: str) -> streams.Stream:
        return streams.Stream(priority)

    def current_stream(self) -> streams.Stream:
        return streams.Stream()

    def stream_handle(self, stream: Any) -> int:
        if stream is not None:
            streams.check(stream)
        return 0

    def capture_id(self, handle: int) -> int:
        return 0

    def follow(self, stream: int, other: int) -> None:
        pass

    def synchronize(self, stream: Any) -> None:
        self.stream_handle(stream)

    def failure(self) -> PennympiError | None:
        if not self._record[ctx_words.RECORD_TAKEN]:
            return None
        _, source, call, epoch, found = map(int, self._record[: ctx_words.RECORD_FOUND + 1])
        flags, number = divmod(call, ctx_words.TAGGED)
        name = self.call_names.get(number, "a kernel")
        record = Record(self.comm.rank, source, name, epoch, found, bool(flags & 1), flags >> 1)
        error = recorded_failure(record, self.timeout_s, self._find_call, self._where)
        if self._channel and (message := self._channel.failure()):
            error.add_note(f"MPI: {message}")
        return error

    # transfers: kernels make all but these
    def host_put(self, dst: int, src: int, nbytes: int, pe: int, stream: int) -> bool:
        return False

    def host_get(self, dst: int, src: int, nbytes: int, pe: int, stream: int) -> bool:
        return False

    def copy_to(self, address: int, nbytes: int, pe: int, stream: int) -> None:
        if self.puts_by_pointer(pe):
            ctypes.memmove(address + self._heap.peer_offsets[pe], address, nbytes)
        else:
            network.send(self.ctx_address, address, nbytes, pe)

    def hold_if_given_up(self, stream: int) -> None:
        pass  # the launch has raised

    def quiet(self, stream: int) -> None:
        pass

    def register(self, view: ArrayView) -> None:
        pass

    def unregister(self, view: ArrayView) -> None:
        pass

    def describe(self) -> list[tuple[str, str]]:
        beyond = f" of the node's {self._near} PEs, and MPI to the others" if self._channel else ", all to all"
        return [
            ("heap", f"{size_text(self._heap.size_bytes)} a PE in memory that the node shares"),
            ("links", f"shared memory{beyond}"),
        ]

    def close(self, kept: Collection[int] = ()) -> None:
        if self._channel:
            self._channel.close()
        self._heap.close(kept)


def processor() -> str:
    """What the CPU calls itself, and how many cores of it there are."""
    try:
        with open("/proc/cpuinfo") as lines:
            name = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores"
