"""One-sided operations in stream order."""

from typing import Any

import numpy as np

from .arrays.span import Span, check_alike
from .backend import Backend
from .compile.options import KernelOptions
from .job.job import Job
from .kernels.block import POISON
from .kernels.rma import on_stream
from .memory.symmetric import SymmetricArrays
from .memory.workspace import make_workspace
from .settings import setting

BLOCK_BYTES = 16384  # what one block of a put moves at least
COUNTERS = 1024  # put_signals of several blocks that may be in flight at a time
ONE_WARP = 32  # threads of a launch that only waits or signals


class OneSided:
    """put, get, put_signal, wait_signal, quiet and barrier of one team."""

    def __init__(self, backend: Backend, job: Job, arrays: SymmetricArrays):
        self._backend, self._job, self._arrays = backend, job, arrays
        self._kernel_max_bytes: int = setting("PENNYMPI_PUT_KERNEL_MAX_BYTES")
        self._counters = backend.local_words([0] * COUNTERS)
        self._next = 0
        self._captured: list[int] = []  # counters for graphs
        self._put = backend.kernel(on_stream.put_bytes, "put")
        self._get = backend.kernel(on_stream.get_bytes, "get")
        self._put_signal = backend.kernel(on_stream.put_bytes_signal, "put_signal")
        self._wait = backend.kernel(on_stream.wait_signal, "wait_signal")
        workspace = make_workspace(backend, job, 0, 0, 2 * job.n_pes, 1)
        self._barrier_args = (job.me, job.n_pes, workspace.signals, workspace.epochs)
        self._barrier = backend.kernel(on_stream.barrier, "barrier", KernelOptions(constants={"n_pes": job.n_pes}))

    def put(self, dst: Any, src: Any, pe: int, stream: int) -> None:
        to, source = self._pair(dst, src, pe, symmetric_dst=True)
        if source.nbytes == 0:
            return
        if source.nbytes > self._kernel_max_bytes and self._backend.host_put(
            to.address, source.address, source.nbytes, pe, stream
        ):
            return
        self._sendable(source, pe)
        self._put.launch(self._blocks(source.nbytes), (to.address, source.address, source.nbytes, pe), stream)

    def get(self, dst: Any, src: Any, pe: int, stream: int) -> None:
        to, source = self._pair(dst, src, pe, symmetric_dst=False)
        if source.nbytes == 0:
            return
        beyond = self._backend.delta(pe) is None
        if (beyond or source.nbytes > self._kernel_max_bytes) and self._backend.host_get(
            to.address, source.address, source.nbytes, pe, stream
        ):
            return
        self._get.launch(self._blocks(source.nbytes), (to.address, source.address, source.nbytes, pe), stream)

    def put_signal(self, dst: Any, src: Any, signal: Any, value: int, pe: int, stream: int) -> None:
        to, source = self._pair(dst, src, pe, symmetric_dst=True)
        word, value = self._word(signal), _value(value)
        nbytes = source.nbytes
        if nbytes > self._kernel_max_bytes and self._backend.host_put(to.address, source.address, nbytes, pe, stream):
            self._backend.quiet(stream)
            nbytes = 0  # the kernel brings the signal, for it knows whether what came before has failed
        else:
            self._sendable(source, pe)
        # A put that NVSHMEM carries is fused with its signal by one block only.
        blocks = self._blocks(nbytes) if self._backend.puts_by_pointer(pe) else 1
        args = (to.address, source.address, nbytes, word, value, pe, self._counter(stream) if blocks > 1 else 0)
        self._put_signal.launch(blocks, args, stream)

    def _counter(self, stream: int) -> int:
        """Address of a counter of arriving blocks.  One in a graph is its own: the graph may run at any time."""
        if not self._backend.capture_id(stream):
            self._next = (self._next + 1) % COUNTERS
            return self._counters + 8 * self._next
        if not self._captured:
            first = self._backend.local_words([0] * COUNTERS)
            self._captured = [first + 8 * k for k in range(COUNTERS)]
        return self._captured.pop()

    def wait_signal(self, signal: Any, value: int, source: int | None, stream: int) -> None:
        word = self._word(signal)
        if source is not None:
            self.check_pe(source)
        self._backend.order.settle()
        self._wait.launch(1, (word, _value(value), -1 if source is None else source), stream, ONE_WARP)

    def barrier(self, handle: int, stream: Any) -> None:
        self._backend.order.call(self._meet, (), handle, stream, 1, self._barrier)

    def _meet(self, stream: int) -> None:
        self._backend.quiet(stream)
        self._barrier.launch(1, self._barrier_args, stream, ONE_WARP)

    def check_pe(self, pe: Any) -> int:
        """``pe`` as an int.  Raises TypeError or ValueError."""
        if not isinstance(pe, int | np.integer) or isinstance(pe, bool):
            raise TypeError(f"pe {pe!r} is not an int")
        if not 0 <= pe < self._job.n_pes:
            raise ValueError(f"pe {pe} is outside this team of {self._job.n_pes} PEs (0..{self._job.n_pes - 1})")
        return int(pe)

    def _blocks(self, nbytes: int) -> int:
        return max(1, min(self._backend.max_blocks, nbytes // BLOCK_BYTES))

    def _pair(self, dst: Any, src: Any, pe: int, symmetric_dst: bool) -> tuple[Span, Span]:
        self.check_pe(pe)
        to, source = self._backend.span(dst, True), self._backend.span(src, False)
        held = (self._arrays.holds(to), self._arrays.holds(source))
        if not held[0 if symmetric_dst else 1]:
            raise ValueError(
                f"{'dst of a put' if symmetric_dst else 'src of a get'} must be a symmetric array or a view of one "
                "(team.empty and so on): it names the instance on another PE"
            )
        check_alike(dst=to, src=source)
        return to, source

    def _sendable(self, source: Span, pe: int) -> None:
        if self._backend.delta(pe) is None and not self._arrays.sendable(source):
            raise ValueError(
                f"PE {pe} is beyond the reach of a pointer, and only symmetric or registered memory can be sent there: "
                "call team.register(src) once, or use an array of the team"
            )

    def _word(self, signal: Any) -> int:
        span = self._backend.span(signal, True)
        is_word = span.count == 1 and span.dtype.name in ("uint64", "int64") and span.address % 8 == 0
        if not is_word or not self._arrays.holds(span):
            raise ValueError("a signal is one element of team.signals(n): pass a view such as signals[i:i+1]")
        return span.address


def _value(value: Any) -> int:
    """A signal's value.  Raises TypeError or ValueError."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        raise TypeError(f"signal value {value!r} is not an int")
    if not 0 <= value < POISON:
        raise ValueError(f"signal value {value} is outside 0..2**62-1: values only grow, from 0")
    return int(value)
