"""Team: the PEs of a communicator, and everything that they can do together."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .app_kernel import AppKernel
from .arrays.dtypes import dtype_of
from .arrays.operators import operator_name
from .backend import Backend
from .collectives.allreduce import AllReduce
from .collectives.base import CollectiveContext
from .collectives.calls import Collectives
from .collectives.exchange import Exchange
from .collectives.residual import AllReducePlus
from .errors import CollectiveMismatchError, NotInitialized
from .job.job import Job
from .kernels.algorithm import MAX_THREADS
from .memory.symmetric import SymmetricArrays
from .memory.workspace import Workspaces
from .rma import OneSided
from .selection.selection import Explanation, agree_on_selection
from .settings import setting
from .topology.facts import facts
from .topology.hardware import read_hardware
from .topology.layout import Layout
from .topology.place import place_of


class Team(Collectives):
    """A group of PEs with a symmetric heap; made by ``pennympi.init``.

    me, n_pes:       this PE and their number, as in ``comm``
    backend:         "host" or "cuda"
    place:           the nodes of the PEs and what their links can do, which decides what algorithms may run
    layout:          what laid the nodes (PENNYMPI_TOPOLOGY, init(topology=...)); None: MPI and the hardware
    local_pe, n_local: this PE among those of its host
    """

    def __init__(self, job: Job, backend: Backend, layout: Layout | None = None, sms: int | None = None):
        self._job, self._backend = job, backend
        self.comm = job.comm
        self.me, self.n_pes = job.me, job.n_pes
        self.backend, self.device_name = backend.name, backend.device_name
        self.layout, self.place = layout, place_of(job, backend, layout)
        self.local_pe, self.n_local = job.control.local, job.control.n_local
        self._selection = agree_on_selection(job, backend, self.place)
        self._debug = setting("PENNYMPI_DEBUG")
        self._open = True
        self._arrays = SymmetricArrays(backend, job)
        self._rma = OneSided(backend, job, self._arrays)
        self._exchange = Exchange(backend, job, self._arrays, self._rma)
        self._workspaces = Workspaces(backend, job, self.place)
        ground = CollectiveContext(backend, job, self._arrays, self.place, self._workspaces, sms)
        self._allreduce = AllReduce(ground, self._selection)
        self._allreduce_plus = AllReducePlus(ground, self._selection)
        super().__init__(ground)

    # Symmetric arrays ------------------------------------------------------------------
    def empty(self, shape: Any, dtype: Any = "float32") -> Any:
        """A symmetric array, not set: numpy.ndarray on the host, cupy.ndarray on a GPU.

        shape: int or ints;  dtype: name or dtype.  Collective: the same on every PE.
        Raises SymmetricHeapExhausted, Unsupported (dtype), ValueError (PEs differ).
        """
        self._enter("empty")
        return self._arrays.empty(shape, dtype)

    def full(self, shape: Any, value: Any, dtype: Any = "float32") -> Any:
        """A symmetric array with every element ``value``.  Collective, see ``empty``."""
        array = self.empty(shape, dtype)
        self._backend.fill(array, value)
        self._job.rendezvous("set-up of a symmetric array")  # or a peer's put could come before the value
        return array

    def zeros(self, shape: Any, dtype: Any = "float32") -> Any:
        """A symmetric array of zeros.  Collective, see ``empty``."""
        return self.full(shape, 0, dtype)

    def array(self, data: Any, dtype: Any = None) -> Any:
        """A symmetric copy of this PE's ``data``; shape and dtype as on every PE.  Collective."""
        source = data if hasattr(data, "dtype") and hasattr(data, "shape") else np.asarray(data)
        if dtype is not None:
            source = source.astype(dtype_of(dtype).numpy)
        array = self.empty(source.shape, source.dtype)
        span = self._backend.span(array, True)
        if span.count:
            self._backend.copy_in(span.address, source)
        self._job.rendezvous("set-up of a symmetric array")
        return array

    def signals(self, n: int) -> Any:
        """n symmetric signal words (uint64), zero.  Collective, and meets every PE."""
        return self.zeros(n, "uint64")

    def free(self, x: Any) -> None:
        """Give a symmetric array back.  Collective.  Raises ValueError for any other array."""
        self._enter("free")
        self._arrays.free(x)

    def peer(self, x: Any, pe: int) -> Any:
        """PE ``pe``'s instance of a symmetric array or view, as an array of this process.

        Raises ValueError (not symmetric, no such PE), Unsupported (beyond a pointer's reach).
        """
        self._check()
        return self._arrays.peer(x, self._rma.check_pe(pe))

    def register(self, x: Any) -> None:
        """Let an array outside the heap be the source of puts to any PE."""
        self._check()
        self._arrays.register(x)

    def unregister(self, x: Any) -> None:
        """Undo ``register``."""
        self._check()
        self._arrays.unregister(x)

    # Streams ---------------------------------------------------------------------------
    def stream(self, priority: str = "normal") -> Any:
        """A new stream.  priority: "normal" or "high" (runs before normal work of the device)."""
        self._check()
        if priority not in ("normal", "high"):
            raise ValueError(f"priority {priority!r} is neither 'normal' nor 'high'")
        return self._backend.stream(priority)

    def synchronize(self, stream: Any = None) -> None:
        """Wait until the stream (None: the device) has run.  Raises PeerTimeout."""
        self._check()
        self._backend.synchronize(stream)

    # One-sided -------------------------------------------------------------------------
    def put(self, dst: Any, src: Any, pe: int, stream: Any = None) -> None:
        """``dst`` on PE ``pe`` = ``src``, in stream order.

        dst: symmetric array or view (its local instance names the remote one), src: any
        contiguous device array of the same count and dtype.  Raises TypeError, ValueError.
        """
        self._check()
        self._rma.put(dst, src, pe, self._backend.stream_handle(stream))

    def get(self, dst: Any, src: Any, pe: int, stream: Any = None) -> None:
        """``dst`` = ``src`` on PE ``pe``, in stream order; src symmetric.  See ``put``."""
        self._check()
        self._rma.get(dst, src, pe, self._backend.stream_handle(stream))

    def put_signal(self, dst: Any, src: Any, signal: Any, value: int, pe: int, stream: Any = None) -> None:
        """``put``, then set ``signal`` on PE ``pe`` to ``value``: who sees the value sees the data.

        signal: a one-element view of ``signals(n)``;  value: larger than any before it
        On a network two values under way to one word may arrive in either order: use two words in turn, or send the
        second when the first is known to have been taken.
        """
        self._check()
        self._rma.put_signal(dst, src, signal, value, pe, self._backend.stream_handle(stream))

    def wait_signal(self, signal: Any, value: int, source: int | None = None, stream: Any = None) -> None:
        """Hold the stream until the local ``signal`` is at least ``value``.

        source: the PE that sets it, for the message of a PeerTimeout
        On a network two values under way to one word may arrive in either order, and the later one ends the wait for the
        earlier: use two words in turn, or send the second when the first is known to have been taken.
        """
        self._check()
        self._rma.wait_signal(signal, value, source, self._backend.stream_handle(stream))

    def quiet(self, stream: Any = None) -> None:
        """Complete this PE's earlier puts, in stream order."""
        self._check()
        self._backend.quiet(self._backend.stream_handle(stream))

    def barrier(self, stream: Any = None) -> None:
        """Hold the stream until every PE's stream is here; completes earlier puts.  Collective."""
        self._enter("barrier")
        self._rma.barrier(self._backend.stream_handle(stream), stream)

    # Collectives -----------------------------------------------------------------------
    def exchange(self, recv: Any, send: Any, pe: int, form: str = "put_signal", stream: Any = None) -> None:
        """Swap with PE ``pe``, which makes the same call: recv = its send.  recv may be send.

        form: "put_signal" (fastest), "put_fence_signal", or "put_barrier" (all PEs take part)
        """
        self._check()
        self._exchange.call(recv, send, pe, form, self._backend.stream_handle(stream), stream)

    def allreduce(
        self,
        x: Any,
        out: Any = None,
        op: Any = "sum",
        algorithm: str = "auto",
        stream: Any = None,
        residual: Any = None,
        sms: int | None = None,
    ) -> Any:
        """out = op over all PEs of x, plus residual, in stream order; returns out (x when out is None: in place).

        x, out, residual: contiguous device arrays of the same count and dtype, symmetric or not
        op: "sum", "prod", "min", "max", "avg", or MPI.SUM and so on
        algorithm: a row of the table in the README, or "auto";  sms: see ``Collectives``
        16-bit floats are added in float32 and rounded once.  Every PE gets the same bits, but for
        its own residual, which the same kernel adds before that rounding (one_shot, one_shot_packets),
        or in float32 with a second rounding (two_shot, two_shot_packets); it may be out.
        Raises TypeError, ValueError, Unsupported before anything is sent; PeerTimeout.
        """
        if residual is None:
            self._allreduce.call(self._ask(self._allreduce, algorithm, x, out, op), algorithm, stream, sms)
        else:
            plus = self._allreduce_plus
            plus.call(self._ask(plus, algorithm, x, out, op, residual), algorithm, stream, sms)
        return x if out is None else out

    def plan_allreduce(
        self,
        x: Any,
        out: Any = None,
        op: Any = "sum",
        algorithm: str = "auto",
        residual: Any = None,
        sms: int | None = None,
    ) -> Callable[..., None]:
        """A persistent AllReduce of these arrays: call it as plan(stream).  Collective.  Arguments as ``allreduce``."""
        if residual is None:
            return self._plan(self._allreduce, algorithm, sms, x, out, op)
        return self._plan(self._allreduce_plus, algorithm, sms, x, out, op, residual)

    def explain(self, nbytes: int, dtype: Any = "float32", op: Any = "sum", sms: int | None = None) -> Explanation:
        """What an AllReduce of ``nbytes`` bytes will run and why, its plan, and the predicted times of all algorithms.

        Raises ValueError (size, op, sms, PENNYMPI_ALLREDUCE), Unsupported (dtype).
        """
        self._check()
        if nbytes < 0:
            raise ValueError(f"{nbytes} bytes: a size is not negative")
        limits = self._allreduce.limits(sms)
        return self._selection.explain(int(nbytes), dtype_of(dtype), operator_name(op), limits)

    def kernel(
        self, text: Callable[..., Any], dtype: Any = "float32", most_threads: int = MAX_THREADS, resident: int = 1
    ) -> AppKernel:
        """Compile a plain function over ``pennympi.kernels.block`` for this team's device.

        text:  its first parameter is ``ctx``;  dtype: of ``load``, ``store`` and ``real``
        most_threads, resident: on a GPU, what a launch gives a block at most, and how many blocks a multiprocessor
               must be able to hold at a time: a thread gets the registers that this leaves
        Raises ValueError.
        """
        self._check()
        return AppKernel(self._backend, text, dtype_of(dtype), (most_threads, resident))

    def gather(self, data: Any) -> list[Any]:
        """Every PE's ``data`` (any picklable object), in order of PE.  Collective, with a deadline."""
        self._enter("gather")
        return self._job.gather(data, "gather")

    def bytes_sent(self) -> np.ndarray:
        """(n_pes,) int64: bytes that this PE has put to each PE since the team was made.

        Data of puts, signalled puts and packets, in symmetric arrays and in collectives; not the
        signals, nor what a get fetched.  ``pennympi.topology.bytes_by_rail`` folds the counts of all PEs by rail.
        Raises Unsupported where nothing is counted: without PENNYMPI_COUNT_BYTES=1, or on the cuda backend.
        """
        self._check()
        return self._backend.bytes_sent()

    def topology(self) -> dict[str, Any]:
        """Nodes, devices, links, NICs, rails and rings, as ``python -m pennympi topology`` draws them.  Collective."""
        self._enter("topology")
        own = read_hardware(self.device_name, self._backend.bus_id)
        return facts(self.place, self.layout, self._job.gather(own, "detection of the topology"))

    def describe(self) -> list[tuple[str, str]]:
        """(what, value) lines on the device, the heap and the links of this PE."""
        self._check()
        sizes = " or ".join(map(str, sorted({len(pes) for pes in self.place.nodes})))
        laid = f", laid by {self.layout.name}" if self.layout else ""
        nodes = f"{len(self.place.nodes)} with {sizes} PEs{laid}"
        workspaces = f"{self._workspaces.held_bytes} bytes of symmetric memory, in {self._workspaces.count}"
        return [("device", self.device_name), *self._backend.describe(), ("nodes", nodes), ("workspaces", workspaces)]

    # Life ------------------------------------------------------------------------------
    def finalize(self) -> None:
        """Free everything.  Collective; a second call does nothing."""
        if not self._open:
            return
        self._backend.synchronize(None)
        self._job.rendezvous("finalize")
        self._open = False
        self._arrays.release_all()
        self._backend.close()
        self._job.close()

    def __enter__(self) -> "Team":
        return self

    def __exit__(self, kind: Any, exc: Any, trace: Any) -> None:
        if kind is None:
            self.finalize()  # after an exception the others may be anywhere: the job's hooks end it

    def _check(self) -> None:
        if not self._open:
            raise NotInitialized("this team is finalized: make a new one with pennympi.init()")

    def _enter(self, name: str, *rest: Any) -> None:
        """Count a call that every PE makes; in debug mode, compare it with the other PEs'."""
        if not self._open:
            self._check()
        self._job.control.enter(name)
        if self._debug:
            self._compare(name, *rest)

    def _compare(self, name: str, *rest: Any) -> None:
        said = self._job.gather((name, *rest), name)
        if any(other != said[0] for other in said):
            raise CollectiveMismatchError(
                "the PEs disagree on (call, dtype, count, op, algorithm, root or residual): "
                + "; ".join(f"PE {pe} {one}" for pe, one in enumerate(said[:16]))
            )
