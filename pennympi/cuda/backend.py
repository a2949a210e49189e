"""The cuda backend: NVSHMEM's heap, CuPy arrays, kernels launched through the driver."""

import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, NoReturn

import cupy
import numpy as np
from cuda.bindings import driver
from nvshmem import bindings as nvshmem

from ..arrays.array_view import ArrayView
from ..arrays.dtypes import DType
from ..compile import context as ctx_words
from ..compile.options import PLAIN, KernelOptions
from ..errors import PennympiError, Record, recorded_failure
from ..job.device_liveness import DeviceLiveness
from ..job.job import Job, open_jobs
from ..job.monitor import DeviceMonitor
from ..settings import setting
from ..units import size_text
from . import arrays, links, streams, world
from .compile import OVERLAP_CC, Target, call_number, cubin
from .condition import THREADS, hold
from .heap import Heap
from .launch import CudaKernel, checked, load
from .loops import Repeat
from .remote import nvshmem_version
from .setup_stream import beside_captures
from .timeout_record import given_up

_runtime = cupy.cuda.runtime


class CudaBackend:
    """See ``pennympi.backend.Backend`` for the meaning of each member."""

    name = "cuda"
    buffer_bytes = 256 << 10
    threads = 512
    has_streams = True

    def __init__(self, job: Job, heap_bytes: int | None):
        self._job = job
        self._world, self._pes = world.join(job, heap_bytes)
        self._device, self._setup, segments = self._world.device, self._world.setup, self._world.segments
        facts = _runtime.getDeviceProperties(self._device)
        self.device_name = facts["name"].decode()
        self.bus_id = _runtime.deviceGetPCIBusId(self._device)
        self._cc = (facts["major"], facts["minor"])
        self.overlap = self._cc >= OVERLAP_CC
        # Under MPS a PE sees its share of the device; all PEs must cut work alike.
        # One block a multiprocessor: the rest of it is for the user's kernels and for puts.
        self.max_blocks = min(job.gather(facts["multiProcessorCount"], "look at the devices"))
        # Where PEs share the device, their shares may have multiprocessors in common: not all blocks would find one.
        shared = any(job.gather(self._world.n_sharing > 1, "look at the devices"))
        self.resident_blocks = self.max_blocks * 7 // 8 if shared else self.max_blocks
        self.order = self._world.order
        self._heap = Heap(job, segments)
        self._forced: bool = setting("PENNYMPI_FORCE_NVSHMEM_PUT")
        self._reach = [segments.peer_offsets[number] for number in self._pes]
        self._peer_offsets = [None if self._forced and pe != job.me else d for pe, d in enumerate(self._reach)]
        self.needs_scratch = self._beyond = any(job.gather(None in self._peer_offsets, "look at the links"))
        self.stores = self.puts_from_anywhere = not self._beyond
        # PCIe does not guarantee that 128-byte stores to host memory are delivered as a whole.
        near = None not in (self._peer_offsets[pe] for pe in job.control.pes) and segments.by_nvshmem
        near_all = all(job.gather(near, "look at the links"))
        self.ll128_in_nodes = near_all and links.ll128_in_nodes(job, self._device)
        self.ll128_safe = self.ll128_in_nodes and self.stores and job.control.n_local == job.n_pes
        whole = self._pes == tuple(range(segments.n_pes))  # the mapping reaches all PEs of NVSHMEM
        distance = world.multicast_distance(job, segments.base) if whole and self.stores and segments.by_nvshmem else 0
        self.multicast = distance != 0 and self._cc >= OVERLAP_CC
        self._kept: list[int] = []
        self._followed: Any = None  # an event
        self._kernels: dict[tuple[Callable[..., Any], str, KernelOptions], CudaKernel] = {}
        self._given_up = given_up()
        self.abort, self._record, self._call_names = (
            self._given_up.abort, self._given_up.record, self._given_up.call_names
        )  # fmt: skip
        self._alive = cupy.cuda.alloc_pinned_memory(8 * (1 + job.n_pes))
        self._liveness = DeviceLiveness(job.control, np.frombuffer(self._alive, np.int64, 1 + job.n_pes))
        self.launches = 0  # of all kernels but collectives
        self.timeout_s = setting("PENNYMPI_TIMEOUT_S")
        ctx = (
            [0] * ctx_words.PEER_OFFSETS
            + [ctx_words.UNREACHABLE if d is None else d for d in self._peer_offsets]
            + list(self._pes)
        )
        ctx[ctx_words.ME], ctx[ctx_words.N_PES], ctx[ctx_words.TIMEOUT_NS] = job.me, job.n_pes, int(self.timeout_s * 1e9)
        ctx[ctx_words.MULTICAST] = distance
        for word, value in self._given_up.words().items():
            ctx[word] = value
        ctx[ctx_words.ALIVE] = self._alive.ptr
        self.ctx_address = self.local_words(ctx)
        self._given_up.open(self.ctx_address)
        self._monitor = DeviceMonitor(self._poll)

    # memory
    def allocate(self, nbytes: int) -> int:
        with beside_captures():
            return self._heap.allocate(nbytes)

    def release(self, address: int) -> None:
        self._heap.release(address)

    def local_words(self, words: Sequence[int]) -> int:
        self._kept.append(self._setup.take_words(words))
        return self._kept[-1]

    def free_words(self, address: int) -> None:
        self._kept.remove(address)
        self._setup.free_words(address)

    def zero(self, address: int, nbytes: int) -> None:
        self._setup.zero(address, nbytes)

    def view(self, address: int, shape: tuple[int, ...], dtype: DType, strides: tuple[int, ...] | None = None) -> Any:
        return self._heap.view(address, shape, dtype, strides)

    def copy_in(self, address: int, data: Any) -> None:
        self._setup.copy_in(address, data)

    def fill(self, view: Any, value: Any) -> None:
        self._setup.fill(view, value)

    def in_heap(self, address: int) -> bool:
        return self._world.segments.holds(address)

    def taken(self, address: int) -> bool:
        return self._heap.taken(address)

    def peer_offset(self, pe: int) -> int | None:
        return self._reach[pe]

    def puts_by_pointer(self, pe: int) -> bool:
        return self._peer_offsets[pe] is not None

    def array_view(self, x: Any, writable: bool) -> ArrayView:
        return arrays.array_view(x, writable, self._device)

    facts = staticmethod(arrays.facts)

    new = staticmethod(arrays.new)

    # kernels
    def kernel(self, kernel: Callable[..., Any], name: str, options: KernelOptions = PLAIN) -> CudaKernel:
        key = kernel, name, options
        if key not in self._kernels:
            target = Target(self._cc, self._beyond)
            self._kernels[key] = CudaKernel(self, cubin(kernel, name, options, target), kernel, options)
            self._call_names[call_number(name)] = name
        return self._kernels[key]

    def load(self, code: bytes) -> int:
        """The function of a cubin.  NVSHMEM must be given a module that holds its device code."""
        return load(code, nvshmem.cumodule_init if self._beyond else None)

    # streams
    def stream(self, priority: str) -> cupy.cuda.Stream:
        return streams.make(priority)

    def current_stream(self) -> cupy.cuda.Stream:
        return cupy.cuda.get_current_stream()

    def stream_handle(self, stream: Any) -> int:
        return streams.handle(stream)

    def capture_id(self, handle: int) -> int:
        return streams.capture_id(handle)

    def follow(self, stream: int, other: int) -> None:
        event = self._followed = self._followed or streams.new_event()
        with self.order.lock:  # the event is one for all threads
            streams.record(event, other)
            streams.wait(event, stream)

    def repeat(
        self, start: Callable[[Any], None], bodies: Sequence[Callable[[Any], None]], done: int
    ) -> Callable[[Any], None]:
        return Repeat(self, start, bodies, done)

    def synchronize_device(self) -> None:
        """Wait for the whole device, and for the puts that NVSHMEM carries."""
        checked(driver.cuCtxSynchronize())
        if self._beyond:
            with self._setup.done() as stream:
                nvshmem.quiet_on_stream(stream)

    def synchronize(self, stream: Any) -> None:
        self.order.record_pending()
        if stream is None:
            self.synchronize_device()
        else:
            checked(driver.cuStreamSynchronize(streams.handle(stream)))
        if self.abort[0]:
            self.raise_failure()

    def _poll(self) -> PennympiError | None:
        self._liveness.update(self._job.control.entered + self.launches, time.monotonic_ns())
        return self.failure()

    def failure(self) -> PennympiError | None:
        if not self._record[ctx_words.RECORD_TAKEN]:
            return None
        _, source, call, epoch, found, me = map(int, self._record[: ctx_words.RECORD_ME + 1])
        flags, number = divmod(call, ctx_words.TAGGED)
        name = self._call_names.get(number, "a kernel")
        record = Record(me, source, name, epoch, found, bool(flags & 1), flags >> 1)
        return recorded_failure(record, self.timeout_s, _find_call, self._job.control.on_host)

    def raise_failure(self) -> NoReturn:
        """Raise the error that a kernel recorded; the watch then does not."""
        failure = self.failure()
        assert failure is not None
        self._monitor.delivered = True
        raise failure

    # transfers
    def host_put(self, dst: int, src: int, nbytes: int, pe: int, stream: int) -> bool:
        if self._forced:
            return False
        self.hold_if_given_up(stream)
        peer_offset = self._reach[pe]
        if peer_offset is not None:
            _runtime.memcpyAsync(dst + peer_offset, src, nbytes, _runtime.memcpyDefault, stream)
            return True
        with self.order.lock:  # NVSHMEM takes calls of one thread at a time
            nvshmem.putmem_on_stream(dst, src, nbytes, self._pes[pe], stream)
        return True

    def host_get(self, dst: int, src: int, nbytes: int, pe: int, stream: int) -> bool:
        peer_offset = self._reach[pe]
        if peer_offset is not None:
            _runtime.memcpyAsync(dst, src + peer_offset, nbytes, _runtime.memcpyDefault, stream)
            return True
        with self.order.lock:
            nvshmem.getmem_on_stream(dst, src, nbytes, self._pes[pe], stream)
        return True

    def copy_to(self, address: int, nbytes: int, pe: int, stream: int) -> None:
        peer_offset = self._peer_offsets[pe]
        assert peer_offset is not None
        _runtime.memcpyAsync(address + peer_offset, address, nbytes, _runtime.memcpyDefault, stream)

    def hold_if_given_up(self, stream: int) -> None:
        if self.order.in_body(stream):
            self.kernel(hold, "loop").launch(1, (), stream, THREADS)
            return
        word, equal = self.ctx_address + 8 * ctx_words.GAVE_UP, driver.CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_EQ
        checked(driver.cuStreamWaitValue64(stream, word, 0, equal))

    def quiet(self, stream: int) -> None:
        if self._beyond:
            with self.order.lock:
                nvshmem.quiet_on_stream(stream)  # a put by pointer is complete when its kernel is

    def register(self, view: ArrayView) -> None:
        if self._world.segments.by_nvshmem:
            world.register(view.address, view.nbytes)

    def unregister(self, view: ArrayView) -> None:
        if self._world.segments.by_nvshmem:
            world.unregister(view.address)

    def describe(self) -> list[tuple[str, str]]:
        reached = sum(d is not None for d in self._reach)
        segments = self._world.segments
        free, whole = size_text(segments.ranges.free_bytes), size_text(segments.nbytes)
        path = "NVLink or PCIe" if segments.by_nvshmem else "the node's memory"
        driver_version = checked(driver.cuDriverGetVersion())
        return [
            ("NVSHMEM", nvshmem_version() if segments.by_nvshmem else "not in use"),
            ("CUDA driver", f"{driver_version // 1000}.{driver_version % 1000 // 10}, CuPy {cupy.__version__}"),
            ("compute capability", f"{self._cc[0]}.{self._cc[1]}"),
            ("a call holds", f"at most one block on each of {self.max_blocks} multiprocessors (fewer with sms=)"),
            ("heap", f"{free} of {whole} free in {segments.where}, shared by all teams"),
            ("first team", f"{segments.n_pes} PEs, {self._world.n_sharing} of them on this device"),
            ("links", f"{reached} of {self._job.n_pes} PEs by pointer ({path}), the others by NVSHMEM puts"),
        ]

    def close(self, kept: Collection[int] = ()) -> None:
        self._monitor.stop()
        self._given_up.close(self.ctx_address)
        self._heap.close(kept)
        for address in self._kept:
            self._setup.free_words(address)


def _find_call(pe: int, signature: int) -> str | None:
    """The call of a PE of some team of this process: the wait that gave up may be of any."""
    return next((text for job in open_jobs if (text := job.control.find(pe, signature))), None)
