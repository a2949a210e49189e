"""Team: the PEs of a communicator, and all their operations."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, get_args

import numpy as np

from .annotations import AnyStream, Array, DTypeLike, NewArray, Number, Priority, Shape, Stream
from .app_kernel import AppKernel, compile_kernels
from .arrays.dtypes import DEFAULT, dtype_of, dtype_of_value, scalar
from .backend import Backend, Body
from .call_guard import FINALIZED, CallGuard, check_pe
from .collectives.base import CollectiveContext
from .collectives.calls import Collectives
from .compile.options import LaunchBounds
from .errors import KernelError, NotInitialized
from .job.job import Job
from .kernels.algorithm import MAX_THREADS
from .loop import Loop, make_loop
from .memory.symmetric import SymmetricArrays
from .memory.workspace import Workspaces
from .one_sided import OneSided
from .selection.choose import agree_on_selection
from .state import state
from .stencil.grid.arguments import agreed_decomposition
from .stencil.grid.grid import Grid
from .topology.facts import facts
from .topology.hardware import read_hardware
from .topology.layout import Layout
from .topology.topology import topology_of
from .units import counted, size_text


class Team(OneSided, Collectives):
    """A group of PEs with a symmetric heap; made by ``pennympi.init``.

    me, n_pes:   this PE's number and the number of PEs; ``rank`` and ``size`` are other names for them
    comm:        an MPI communicator of these PEs for the program; the library's messages use another communicator
    backend:     "host" or "cuda"
    pe_topology: the node of each PE and the properties of the links, which decide which algorithms may run
    layout:      the nodes of PENNYMPI_TOPOLOGY or init(topology=...); None: those of the system and the hardware
    local_pe, n_local: number of this PE among the PEs of its node, and their number

    Every PE must call a collective method, in the same order.  The method raises PeerTimeout if another PE does not
    come, and CollectiveMismatchError if another PE makes another call: on a PE that waits for that PE, or on all PEs at
    the next call that only the host makes (gather, empty, free, plan_*, finalize and others).  With PENNYMPI_DEBUG=1 all
    PEs raise it before anything is sent.
    Any thread may call a team, one at a time (as with MPI_THREAD_SERIALIZED), so that the order is the same on every PE:
    a thread that calls during the call of another thread gets TwoThreads on the host, and waits for its turn on a GPU.
    After ``finalize`` all methods, plans and kernels of the team raise NotInitialized, except ``finalize``.  Its
    symmetric arrays and views of peers may still be read; their memory lives until the last of them is dropped.
    Elements are integers of 8 to 64 bits, bfloat16, floats of 16 to 64 bits, complex64, complex128 or bool.
    An array is a contiguous array of the team's device: NumPy or a buffer on the host, CuPy, PyTorch or
    __cuda_array_interface__ on a GPU, DLPack on both.  Any other object is a TypeError.  An array that is not contiguous,
    read-only although the call writes to it, freed, or of another team or device is a ValueError.  An element type that
    the library does not know is Unsupported.
    """

    def __init__(self, job: Job, backend: Backend, layout: Layout | None = None, sms: int | None = None):
        self._job, self._backend = job, backend
        self.comm = job.own_comm
        self.me, self.n_pes = self.rank, self.size = job.me, job.n_pes
        self.backend, self.device_name = backend.name, backend.device_name
        self.layout, self.pe_topology = layout, topology_of(job, backend, layout)
        self.local_pe, self.n_local = job.control.local, job.control.n_local
        selection, guard = agree_on_selection(job, backend, self.pe_topology), CallGuard(job)
        self._workspaces = Workspaces(backend, job, self.pe_topology)
        self._arrays = SymmetricArrays(backend, job, self._workspaces)
        context = CollectiveContext(backend, job, guard, self._arrays, self.pe_topology, self._workspaces, sms)
        self._context = context
        OneSided.__init__(self, context)
        Collectives.__init__(self, context, selection)
        state.teams.add(self)

    # Symmetric arrays ------------------------------------------------------------------
    def empty(self, shape: Shape, dtype: DTypeLike = DEFAULT) -> NewArray:
        """A symmetric array whose elements are not set: numpy.ndarray on the host, cupy.ndarray on a GPU.  Collective.

        shape: int or ints, dtype: name or dtype; the same on every PE
        Raises SymmetricHeapExhausted, TypeError (shape), ValueError (a size, or PEs differ), Unsupported (dtype).
        """
        self._guard.check_open()
        return self._arrays.empty(shape, dtype)

    def full(self, shape: Shape, value: Number, dtype: DTypeLike = None) -> NewArray:
        """A symmetric array whose elements all are ``value``, a number.  Collective.

        dtype: name or dtype; None: that of the value: int64 for an int and float64 for a float, as in numpy.full
        Raises as ``empty``; on every PE TypeError or ValueError if the dtype can't hold the value of a PE.
        """
        array = self.empty(shape, dtype_of_value(value) if dtype is None else dtype)
        return self._arrays.set(array, lambda: self._backend.heap.fill(array, scalar(value, array.dtype)))

    def zeros(self, shape: Shape, dtype: DTypeLike = DEFAULT) -> NewArray:
        """A symmetric array of zeros.  Collective.  Raises as ``empty``."""
        return self.full(shape, 0, dtype)

    def array(self, data: Any, dtype: DTypeLike = None) -> NewArray:
        """A symmetric copy of this PE's ``data``.  Collective.

        data: an array, or an argument of numpy.asarray; its shape is the same on every PE
        dtype: name or dtype; None: that of the data
        Raises as ``empty``.
        """
        source = data if hasattr(data, "dtype") and hasattr(data, "shape") else np.asarray(data)
        if dtype is not None:
            source = source.astype(dtype_of(dtype).numpy)
        array = self.empty(source.shape, source.dtype)
        view = self._backend.heap.array_view(array, True)
        return self._arrays.set(array, lambda: self._backend.heap.copy_in(view.address, source) if view.count else None)

    def signals(self, n: int) -> NewArray:
        """n symmetric signal words: a zero array (n,) of uint64.  Collective.  Raises as ``empty``."""
        return self.zeros(n, "uint64")

    def free(self, x: Array) -> None:
        """Free the memory of a symmetric array, which no PE may use any more.  Collective.

        x: a result of empty, full, zeros, array or signals, and not a view of it
        Raises ValueError for any other array, PeerTimeout.
        """
        self._guard.check_open()
        self._arrays.free(x)

    def peer(self, x: Array, pe: int) -> NewArray:
        """PE ``pe``'s instance of a symmetric array or view, as an array of this process.  Not collective.

        Raises TypeError, ValueError (not symmetric, no such PE), Unsupported (no pointer reaches that PE).
        """
        self._guard.check_open()
        return self._arrays.peer(x, check_pe(pe, self.n_pes))

    def register(self, x: Array) -> None:
        """Let NVSHMEM read and write an array outside the heap, until ``unregister``.  Not collective.

        Puts from it and gets into it then need no copy if no pointer reaches the PE, and kernels may put from it to
        such PEs.  Keep the array until it is unregistered.
        Raises TypeError, ValueError (a symmetric or registered array), Unsupported (dtype).
        """
        self._guard.check_open()
        self._arrays.register(x)

    def unregister(self, x: Any) -> None:
        """Undo ``register``.  Not collective.  Raises TypeError, ValueError (an array that is not registered)."""
        self._guard.check_open()
        self._arrays.unregister(x)

    def stream(self, priority: Priority = "normal") -> Stream:
        """A new stream of the team's device.  Not collective.

        priority: "normal", or "high" for work that runs before the normal work of the device
        Raises ValueError.
        """
        self._guard.check_open()
        if priority not in get_args(Priority):
            raise ValueError(f"priority {priority!r} is neither 'normal' nor 'high'")
        return self._backend.streams.new(priority)

    def synchronize(self, stream: AnyStream | None = None) -> None:
        """Wait until all work in the stream (None: on the device) has finished.  Not collective.

        Raises TypeError (not a stream), PeerTimeout for a call of this PE that has failed.
        """
        self._guard.check_open()
        self._backend.streams.synchronize(stream)

    def grid(
        self, shape: Shape, dims: Shape | None = None, periodic: bool | Sequence[bool] = False, halo: Shape = 1
    ) -> Grid:
        """A Cartesian grid of one to three dimensions, divided into a part for each PE.  Collective.

        shape:    points of the whole grid, by dimension; the last dimension is contiguous
        dims:     PEs by dimension; 0: the library chooses, as in MPI.Compute_dims; None: it chooses all dimensions, so
                  that the busiest PE sends the fewest points
        periodic: whether the last point is a neighbour of the first: for all dimensions, or by dimension
        halo:     points that a PE keeps of each neighbour's part
        Along the last dimension parts begin at multiples of 8 points, and the last part also has the rest, unless a part
        would then have fewer than 8 points or than ``halo``; along other dimensions parts differ by at most one point.
        Raises on every PE TypeError, ValueError (no such grid; PEs differ).
        """
        self._guard.check_open()
        parts = agreed_decomposition(self._job, self.pe_topology, shape, dims, periodic, halo)
        return Grid(self._context, self.get, parts, self.plan_allreduce)

    def plan_loop(
        self, body: Body | Sequence[Body], value: Array, below: float, most: int = 10_000, done: Array | None = None
    ) -> Loop:
        """A loop that runs on the device until value[0] <= below, or value[0] is NaN, or ``most`` runs.  Collective.

        ``loop(stream)`` runs it; ``loop(stream, every=1000, call=f)`` calls f(runs) on the host after every 1000 runs.
        body:  called with a stream, on which it enqueues work that can be captured: calls and plans of the library,
               kernels of any library.  On a GPU it is called once, when the loop is made.  A sequence: bodies that run
               in turn; on a GPU those after the body that ends the loop still run once.  A run of sweeps begins with the
               result of the previous run, so the number of sweeps must be even, or a second plan must sweep from v to u
        value: float32 or float64 (1,) of the device that the body writes, with the same bits on every PE
        below: the same on every PE, as is ``most``
        done:  int64 (1,) of the device: 0 from the loop's start to its end, then 1, for kernels of the body to read;
               None: the loop has its own
        Raises on every PE TypeError, ValueError, Unsupported (a dtype; a body that can't be captured).
        An exception of a body on a PE is raised here on a GPU, and on the other PEs as ValueError or Unsupported; on a
        CPU the loop's call raises it, on that PE alone.
        """
        return make_loop(self._context, body, value, below, most, done)

    # Kernels, and information about all PEs ------------------------------------------------
    def kernel(
        self,
        kernel: Callable[..., Any],
        dtype: DTypeLike = DEFAULT,
        most_threads: int = MAX_THREADS,
        resident: int = 0,
        check: bool | None = None,
    ) -> AppKernel:
        """Compile a plain function over ``pennympi.kernels.block`` for this team's device.  Not collective.

        kernel: a function whose first parameter is ``ctx``; ``pennympi.specialised`` sets its static parameters
        dtype:  element type of ``load``, ``store`` and ``real``, and of the arrays that they access
        most_threads: largest number of threads of a block, on a GPU: a multiple of 32 up to 512
        resident: number of blocks that a multiprocessor must be able to hold at once; the compiler may use all registers
                  that this leaves for a thread; 0: the compiler chooses
        check: True: every access of the kernel is checked against the arrays of its launch, which ends before the call
               returns, and OutOfBounds names the line, the array and the index.  None: the setting PENNYMPI_DEBUG
        Raises KernelError (a mistake in the text of the kernel or of a function that it calls), TypeError (not a plain
        function of ctx and more, or with static parameters), ValueError (most_threads, resident), Unsupported (dtype;
        also complex numbers and bools).
        """
        self._guard.check_open()
        bounds = LaunchBounds(most_threads, resident)
        try:
            return AppKernel(self._context, kernel, dtype_of(dtype), bounds, check)
        except (TypeError, ValueError) as error:
            raise error.with_traceback(None) from None

    def compile(self, kernels: Iterable[AppKernel]) -> None:
        """Compile kernels before their first launch.  Not collective.

        kernels: results of ``kernel``, in the same order on all PEs of a node, which compile them in parallel
        A kernel is compiled for floats if a parameter or a field is annotated as float, else for ints and arrays.
        Raises KernelError, TypeError.
        """
        self._guard.check_open()
        try:
            compile_kernels(list(kernels), self.local_pe, self.n_local)
        except KernelError as error:
            raise error.with_traceback(None) from None

    def gather(self, data: Any) -> list[Any]:
        """Every PE's ``data``, an object that can be pickled, in the order of the PEs.  Collective.

        Raises on every PE TypeError (a PE's data can't be pickled), ValueError (2 GiB or more); PeerTimeout.
        """
        self._guard.check_open()
        return self._job.gather(data, "gather")

    def topology(self) -> dict[str, Any]:
        """The data of ``python -m pennympi topology --json``: nodes, devices, links, NICs, rails, rings.  Collective."""
        self._guard.check_open()
        own = read_hardware(self.device_name, self._backend.bus_id)
        return facts(self.pe_topology, self.layout, self._job.gather(own, "topology"))

    def describe(self) -> list[tuple[str, str]]:
        """(name, value) lines about the device, the heap, the nodes and the workspaces of this PE.  Not collective."""
        self._guard.check_open()
        *smaller, largest = sorted({len(pes) for pes in self.pe_topology.nodes})
        sizes = " or ".join([*map(str, smaller), counted(largest, "PE")])
        laid = f", laid by {self.layout.name}" if self.layout else ""
        work = self._workspaces
        return [
            ("device", self.device_name),
            *self._backend.heap.describe(),
            *self._backend.peers.describe(),
            ("nodes", f"{len(self.pe_topology.nodes)} with {sizes}{laid}"),
            ("workspaces", f"{work.count}, with {size_text(work.held_bytes)} of symmetric memory"),
        ]

    def finalize(self) -> None:
        """Free all memory of the team; a second call does nothing.  Collective.  Raises PeerTimeout."""
        if not self._guard.is_open:
            return
        self._backend.streams.synchronize(None)
        self._job.rendezvous("finalize")
        self._end(FINALIZED)
        self._backend.close(self._arrays.let_go())
        self._job.close()

    def _end(self, why: str) -> None:
        """Let every method and every plan raise NotInitialized."""
        self._guard.close(why)
        self._arrays.plans.end(NotInitialized, why)
        state.teams.discard(self)

    def __repr__(self) -> str:
        end = "" if self._guard.is_open else ", finalized"
        return f"<Team: PE {self.me} of {self.n_pes}, {self.backend} backend on {self.device_name}{end}>"

    def __enter__(self) -> "Team":
        return self

    def __exit__(self, kind: Any, exc: Any, trace: Any) -> None:
        if kind is None:
            self.finalize()  # after an exception the job's hooks end it, since the other PEs may be in any call
