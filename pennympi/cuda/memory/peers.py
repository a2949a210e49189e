"""The other PEs of a team: pointers and NVSHMEM, the words of ``ctx`` about PEs, and the monitor of waits."""

import time
from collections.abc import Sequence
from typing import NoReturn

import cupy
import numpy as np
from cuda.bindings import driver
from nvshmem import bindings as nvshmem

from ...arrays.array_view import ArrayView
from ...compile import context as ctx_words
from ...errors import PennympiError, recorded_failure
from ...job.device_liveness import DeviceLiveness
from ...job.job import Job, open_jobs
from ...job.monitor import DeviceMonitor
from ...settings import setting
from ..compiler.compile import OVERLAP_CC
from ..compiler.launch import checked
from ..device.remote import nvshmem_version
from . import links, world
from .heap import Heap
from .world import World

_runtime = cupy.cuda.runtime


class Peers:
    """See ``pennympi.backend.Peers``.

    ctx_address: address of the words that kernels of this team read (``compile/context.py``)
    abort:       a word: not 0 after a wait of this process has given up;  lock: lock of the process's order
    call_names:  {number of a call in the record of a timeout: its name}
    launches:    number of launches of kernels other than collectives, a sign of life
    """

    def __init__(self, job: Job, world_: World, numbers: tuple[int, ...], heap: Heap, cc: tuple[int, int]):
        self._job, self._world, self._numbers, self._cc = job, world_, numbers, cc
        segments, self.lock, self.launches = world_.segments, world_.order.lock, 0
        self._forced: bool = setting("PENNYMPI_FORCE_NVSHMEM_PUT")
        self.offsets: Sequence[int | None] = [segments.peer_offsets[number] for number in numbers]
        put_offsets = [None if self._forced and pe != job.me else offset for pe, offset in enumerate(self.offsets)]
        self.by_pointer: Sequence[bool] = [offset is not None for offset in put_offsets]
        self.needs_scratch = any(job.gather(None in put_offsets, "look at the links"))
        self.stores = not self.needs_scratch
        # PCIe, over which a heap in host memory is reached, may divide a 128-byte store.
        lines = all(self.by_pointer[pe] for pe in job.control.pes) and segments.by_nvshmem
        lines_everywhere = all(job.gather(lines, "look at the links"))
        self.ll128_in_nodes = lines_everywhere and links.ll128_in_nodes(job, world_.device)
        self.ll128_safe = self.ll128_in_nodes and self.stores and job.control.n_local == job.n_pes
        whole = numbers == tuple(range(segments.n_pes))  # the multicast mapping reaches all PEs of NVSHMEM
        distance = world.multicast_distance(job, segments.base) if whole and self.stores and segments.by_nvshmem else 0
        self.multicast = distance != 0 and cc >= OVERLAP_CC
        self._alive = cupy.cuda.alloc_pinned_memory(8 * (1 + job.n_pes))
        self._liveness = DeviceLiveness(job.control, np.frombuffer(self._alive, np.int64, 1 + job.n_pes))
        self._given_up, self._timeout_s = world_.given_up, float(setting("PENNYMPI_TIMEOUT_S"))
        self.abort, self.call_names = self._given_up.abort, self._given_up.call_names
        ctx = [0] * ctx_words.PEER_OFFSETS
        ctx[ctx_words.ME], ctx[ctx_words.N_PES], ctx[ctx_words.TIMEOUT_NS] = job.me, job.n_pes, int(self._timeout_s * 1e9)
        ctx[ctx_words.MULTICAST], ctx[ctx_words.ALIVE] = distance, self._alive.ptr
        for word, value in self._given_up.words().items():
            ctx[word] = value
        ctx += [ctx_words.UNREACHABLE if offset is None else offset for offset in put_offsets]
        self.ctx_address = heap.take_words((*ctx, *numbers))
        self._given_up.open(self.ctx_address)
        self._monitor = DeviceMonitor(self._poll)

    def _poll(self) -> PennympiError | None:
        self._liveness.update(self._job.control.entered + self.launches, time.monotonic_ns())
        return self._failure()

    def _failure(self) -> PennympiError | None:
        """The error of the first wait on this PE that gave up, or None."""
        record = ctx_words.read_record(self._given_up.record, self.call_names)
        return record and recorded_failure(record, self._timeout_s, _find_call, self._job.control.on_host)

    def raise_failure(self) -> NoReturn:
        """Raise the error that a kernel recorded; the monitor then does not raise it."""
        failure = self._failure()
        assert failure is not None
        self._monitor.delivered = True
        raise failure

    def put(self, dst: int, src: int, nbytes: int, pe: int, stream: int) -> bool:
        if self._forced:
            return False
        offset = self.offsets[pe]
        if offset is not None:
            _runtime.memcpyAsync(dst + offset, src, nbytes, _runtime.memcpyDefault, stream)
            return True
        with self.lock:  # NVSHMEM takes calls of one thread at a time
            nvshmem.putmem_on_stream(dst, src, nbytes, self._numbers[pe], stream)
        return True

    def get(self, dst: int, src: int, nbytes: int, pe: int, stream: int) -> bool:
        offset = self.offsets[pe]
        if offset is not None:
            _runtime.memcpyAsync(dst, src + offset, nbytes, _runtime.memcpyDefault, stream)
            return True
        with self.lock:
            nvshmem.getmem_on_stream(dst, src, nbytes, self._numbers[pe], stream)
        return True

    def copy(self, address: int, nbytes: int, pe: int, stream: int) -> None:
        offset = self.offsets[pe]
        assert offset is not None
        _runtime.memcpyAsync(address + offset, address, nbytes, _runtime.memcpyDefault, stream)

    def quiet(self, stream: int) -> None:
        if not self.stores:
            with self.lock:
                nvshmem.quiet_on_stream(stream)  # not for puts by pointer, which end with their kernel

    def end_puts(self) -> None:
        """Wait until the puts that NVSHMEM carries have ended."""
        if not self.stores:
            with self._world.setup.synchronized() as stream:
                nvshmem.quiet_on_stream(stream)

    def register(self, view: ArrayView) -> None:
        if self._world.segments.by_nvshmem:
            world.register(view.address, view.nbytes)

    def unregister(self, view: ArrayView) -> None:
        if self._world.segments.by_nvshmem:
            world.unregister(view.address)

    def describe(self) -> list[tuple[str, str]]:
        segments, version = self._world.segments, checked(driver.cuDriverGetVersion())
        path = "NVLink or PCIe" if segments.by_nvshmem else "the node's memory"
        reached = sum(offset is not None for offset in self.offsets)
        return [
            ("NVSHMEM", nvshmem_version() if segments.by_nvshmem else "not in use"),
            ("CUDA driver", f"{version // 1000}.{version % 1000 // 10}, CuPy {cupy.__version__}"),
            ("compute capability", f"{self._cc[0]}.{self._cc[1]}"),
            ("first team", f"{segments.n_pes} PEs, {self._world.n_sharing} of them on this device"),
            ("links", f"{reached} of {self._job.n_pes} PEs by pointer ({path}), the others by NVSHMEM puts"),
        ]

    def close(self) -> None:
        self._monitor.stop()
        self._given_up.close(self.ctx_address)


def _find_call(pe: int, tag: int) -> str | None:
    """The call of a PE in any team of this process, since a wait of any team may have given up."""
    return next((text for job in open_jobs if (text := job.control.find(pe, tag))), None)
