"""The one-sided operations of a team, and exchanges between two PEs."""

from collections.abc import Callable
from typing import Any

from .annotations import AnyStream, Array, ExchangeForm
from .arrays.array_view import ArrayView, check_alike
from .arrays.dtypes import is_int
from .call_guard import check_pe
from .collectives.base import CollectiveContext
from .collectives.exchange import Exchange
from .compile.options import PLAIN, KernelOptions
from .kernels import rma as kernels
from .kernels.block import POISON
from .memory.symmetric import KeptChecks
from .memory.workspace import make_workspace

MIN_BLOCK_BYTES = 16384  # bytes that a block of a put moves at least, unless the put is smaller
KERNEL_MAX_BYTES = 256 << 10  # largest put by a kernel of the library; a call of the host makes larger puts
COUNTERS = 1024  # most put_signals of several blocks in flight at once
WARP_THREADS = 32  # threads of a launch that only waits or signals
STAGING_SLOTS, STAGING_SLOT_BYTES = 32, 65536  # slots for arrays that NVSHMEM does not know


class OneSided:
    """Puts, gets, signals and exchanges of a team."""

    def __init__(self, context: CollectiveContext):
        backend, job = self._backend, self._job = context.backend, context.job
        self._guard, self._arrays, self._handle_of = context.guard, context.arrays, backend.streams.handle
        self._counters = backend.heap.take_words([0] * COUNTERS)
        self._next = 0
        self._kept = KeptChecks(backend).result
        self._graph_counters: list[int] = []  # addresses of counters that no graph uses yet
        self._through_staging = not backend.peers.stores
        wanted: list[tuple[Callable[..., Any], str, KernelOptions]] = [
            (kernels.put_bytes, "put", PLAIN),
            (kernels.get_bytes, "get", PLAIN),
            (kernels.put_bytes_signal, "put_signal", PLAIN),
            (kernels.wait_signal, "wait_signal", PLAIN),
            (kernels.barrier, "barrier", KernelOptions(constants={"n_pes": job.n_pes})),
        ]
        if self._through_staging:  # arrays that NVSHMEM does not know
            wanted.append((kernels.put_by_staging, "put by staging", PLAIN))
            wanted.append((kernels.get_by_staging, "get by staging", PLAIN))
        first = len(wanted) * job.control.local // job.control.n_local  # each PE of a node begins with another kernel
        compiled = {entry[1]: backend.compiler.kernel(*entry) for entry in wanted[first:] + wanted[:first]}
        self._put, self._get, self._put_signal = compiled["put"], compiled["get"], compiled["put_signal"]
        self._wait, self._barrier = compiled["wait_signal"], compiled["barrier"]
        n_slots = STAGING_SLOTS if self._through_staging else 0
        workspace = make_workspace(backend, job, 0, n_slots * STAGING_SLOT_BYTES, 2 * job.n_pes, 1)
        self._barrier_args = (job.me, job.n_pes, workspace.signals, workspace.epochs)
        self._by_staging = [compiled.get(f"{what} by staging", compiled[what]) for what in ("put", "get")]
        self._staging = (workspace.outbox, backend.heap.take_words([0] * n_slots), STAGING_SLOT_BYTES) if n_slots else ()
        self._exchange = Exchange(context)

    def put(self, dst: Array, src: Array, pe: int, stream: AnyStream | None = None) -> None:
        """``dst`` on PE ``pe`` = ``src``, in stream order.  Not collective.

        dst: a symmetric array or a view of it; its instance on this PE names the instance on PE ``pe``
        src: an array of the same count and dtype.  If no pointer reaches the PE, src is copied first, unless it is
             symmetric or registered
        Raises TypeError, ValueError (dst, src, pe), Unsupported (dtype), PeerTimeout.
        """
        self._guard.check_open()
        handle = self._handle_of(stream)
        target, source, nbytes, through_staging, _ = self._kept(self._check_put, dst, src, pe)
        if nbytes == 0:
            return
        if through_staging:
            self._put_by_staging(target, source, nbytes, pe, handle)
            return
        if nbytes > KERNEL_MAX_BYTES and self._put_by_host(target, source, nbytes, pe, handle):
            return
        self._put.launch(self._blocks(nbytes), (target, source, nbytes, pe), handle)

    def get(self, dst: Array, src: Array, pe: int, stream: AnyStream | None = None) -> None:
        """``dst`` = ``src`` on PE ``pe``, in stream order.  Not collective.

        dst: an array
        src: a symmetric array or view of the same count and dtype; its instance on this PE names that on PE ``pe``
        Raises as ``put``.
        """
        self._guard.check_open()
        handle = self._handle_of(stream)
        target, source = self._pair(dst, src, pe, symmetric_dst=False)
        if source.nbytes == 0:
            return
        if self._unknown(target, pe):
            args = (target.address, source.address, source.nbytes, pe, *self._staging, 0)
            self._by_staging[1].launch(min(STAGING_SLOTS, self._blocks(source.nbytes)), args, handle)
            return
        is_remote = self._backend.peers.offsets[pe] is None
        if (is_remote or source.nbytes > KERNEL_MAX_BYTES) and self._backend.peers.get(
            target.address, source.address, source.nbytes, pe, handle
        ):
            return
        self._get.launch(self._blocks(source.nbytes), (target.address, source.address, source.nbytes, pe), handle)

    def put_signal(
        self, dst: Array, src: Array, signal: Array, value: int, pe: int, stream: AnyStream | None = None
    ) -> None:
        """``put``, then set ``signal`` on PE ``pe`` to ``value``: a PE that sees the value sees the data.  Not
        collective.

        signal: one element of ``signals(n)``, such as words[3:4]
        value:  int from 0 to 2**62 - 1, larger than any that this word had before
        If two values for a word are on their way over a network at once, they may arrive in either order: use two words
        in turn, or send the second value when you know that the first has arrived.
        Raises as ``put``.
        """
        self._guard.check_open()
        handle = self._handle_of(stream)
        target, source, nbytes, through_staging, word = self._kept(self._check_put, dst, src, pe, signal)
        value = _value(value)
        if nbytes and through_staging:
            self._put_by_staging(target, source, nbytes, pe, handle, word, value)
            return
        if nbytes > KERNEL_MAX_BYTES and self._put_by_host(target, source, nbytes, pe, handle):
            self._backend.peers.quiet(handle)
            nbytes = 0  # the kernel only signals: it knows whether an earlier wait has given up
        # NVSHMEM fuses a put with its signal only within one block.
        blocks = self._blocks(nbytes) if self._backend.peers.by_pointer[pe] else 1
        args = (target, source, nbytes, pe, word, value, self._counter(handle) if blocks > 1 else 0)
        self._put_signal.launch(blocks, args, handle)

    def wait_signal(self, signal: Array, value: int, source: int | None = None, stream: AnyStream | None = None) -> None:
        """Hold the stream until ``signal`` of this PE is at least ``value``.  Not collective.

        signal, value: see ``put_signal``.  If two values are on their way, the larger value also ends a wait for the
                       smaller value
        source: the PE that sets the signal, which a PeerTimeout then names; None: unknown
        Raises TypeError, ValueError (signal, value, source), PeerTimeout.
        """
        self._guard.check_open()
        handle = self._handle_of(stream)
        word = self._kept(self._word, signal)
        if source is not None:
            check_pe(source, self._job.n_pes)
        self._backend.streams.order.record_pending()
        self._wait.launch(1, (word, _value(value), -1 if source is None else source), handle, WARP_THREADS)

    def quiet(self, stream: AnyStream | None = None) -> None:
        """Complete this PE's earlier puts, in stream order.  Not collective.  Raises TypeError (not a stream)."""
        self._guard.check_open()
        self._backend.peers.quiet(self._handle_of(stream))

    def barrier(self, stream: AnyStream | None = None) -> None:
        """Hold the stream until the streams of all PEs have reached this call, and complete earlier puts.  Collective.

        Raises TypeError (not a stream), PeerTimeout.
        """
        handle = self._handle_of(stream)
        self._guard.enter("barrier")
        self._backend.streams.order.enqueue(self._launch_barrier, (), handle, stream)

    def exchange(
        self, recv: Array, send: Array, pe: int, form: ExchangeForm = "packets", stream: AnyStream | None = None
    ) -> None:
        """Swap with PE ``pe``, which makes the same call: recv = its send, in stream order.  recv may be send.

        recv, send: arrays of the same count and dtype
        form: "packets" (fastest; "put_signal" where packets can't go), "put_signal" or "put_fence_signal": collective
              over the two PEs only;  "put_barrier": collective over the team
        Raises TypeError, ValueError (arrays, pe, form), Unsupported (dtype), PeerTimeout.
        """
        self._guard.check_open()
        self._exchange.swap(recv, send, pe, form, self._handle_of(stream), stream)

    def _put_by_host(self, target: int, source: int, nbytes: int, pe: int, stream: int) -> bool:
        """Put by a call of the host, unless this PE has given up; return False if kernels make all puts."""
        self._backend.streams.hold_if_given_up(stream)
        return self._backend.peers.put(target, source, nbytes, pe, stream)

    def _put_by_staging(
        self, target: int, source: int, nbytes: int, pe: int, stream: int, word: int = 0, value: int = 0
    ) -> None:
        """Put through staging.  word, value: the signal after the put; word 0: no signal"""
        args = (target, source, nbytes, pe, *self._staging, self._counter(stream), word, value)
        self._by_staging[0].launch(min(STAGING_SLOTS, self._blocks(nbytes)), args, stream)

    def _counter(self, stream: int) -> int:
        """Address of a counter of finished blocks; a captured put gets its own, since a graph may run at any time."""
        if not self._backend.streams.capture_id(stream):
            self._next = (self._next + 1) % COUNTERS
            return self._counters + 8 * self._next
        if not self._graph_counters:
            first = self._backend.heap.take_words([0] * COUNTERS)
            self._graph_counters = [first + 8 * k for k in range(COUNTERS)]
        return self._graph_counters.pop()

    def _launch_barrier(self, stream: int) -> None:
        self._backend.peers.quiet(stream)
        self._barrier.launch(1, self._barrier_args, stream, WARP_THREADS)

    def _blocks(self, nbytes: int) -> int:
        return max(1, min(self._backend.max_blocks, nbytes // MIN_BLOCK_BYTES))

    def _check_put(self, dst: Any, src: Any, pe: int, *signal: Any) -> tuple[int, int, int, bool, int]:
        """(address of dst, address of src, bytes, whether they go through staging, address of the signal or 0)."""
        target, source = self._pair(dst, src, pe, symmetric_dst=True)
        word = self._word(*signal) if signal else 0
        return target.address, source.address, source.nbytes, self._unknown(source, pe), word

    def _pair(self, dst: Any, src: Any, pe: int, symmetric_dst: bool) -> tuple[ArrayView, ArrayView]:
        """The checked array views of dst and src.  symmetric_dst: dst must be symmetric; else src must be."""
        check_pe(pe, self._job.n_pes)
        target, source = self._backend.heap.array_view(dst, True), self._backend.heap.array_view(src, False)
        held = (self._arrays.holds(target), self._arrays.holds(source))
        if not held[0 if symmetric_dst else 1]:
            raise ValueError(
                f"{'dst of a put' if symmetric_dst else 'src of a get'} must be a symmetric array or a view of one "
                f"(team.empty and so on), because it names the instance on PE {pe}"
            )
        if target.count != source.count or target.dtype is not source.dtype:
            check_alike(dst=target, src=source)
        return target, source

    def _unknown(self, own: ArrayView, pe: int) -> bool:
        """Whether NVSHMEM carries a put from this array, or a get into it, but does not know the array."""
        return self._through_staging and not self._backend.peers.by_pointer[pe] and not self._arrays.known(own)

    def _word(self, signal: Any) -> int:
        """The address of a signal word.  Raises TypeError, ValueError."""
        if getattr(signal, "ndim", 1) == 0:  # signals[i] is a number in NumPy, and an array in CuPy, which CPUs refuse
            raise TypeError("an element such as signals[i] is not a view: pass signals[i:i+1]")
        view = self._backend.heap.array_view(signal, True)
        is_word = view.count == 1 and view.dtype.name in ("uint64", "int64") and view.address % 8 == 0
        if not is_word or not self._arrays.holds(view):
            raise ValueError("a signal is one element of team.signals(n): pass a view such as signals[i:i+1]")
        return view.address


def _value(value: Any) -> int:
    """A signal's value as an int.  Raises TypeError or ValueError."""
    if not is_int(value):
        raise TypeError(f"signal value {value!r} is not an int")
    if not 0 <= value < POISON:
        raise ValueError(f"signal value {value} is outside 0..2**62-1: values only grow, from 0")
    return int(value)
