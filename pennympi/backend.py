"""The interface of a backend: properties of the device, and four parts, the same for a CPU and a GPU.

``host/`` and ``cuda/`` have a file of the same name for each part: heap.py, compiler.py, streams.py, peers.py.  So has
``simulator/``, except that its peers are in links.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from .arrays.array_view import ArrayView
from .arrays.dtypes import DType
from .compile.options import PLAIN, KernelOptions

if TYPE_CHECKING:
    from .memory.order import Order

Run = Callable[..., None]  # its arguments: those left open, and a stream handle
Body = Callable[[Any], object]  # its argument: a stream


class Kernel(Protocol):
    """A compiled kernel, ready to launch."""

    def launch(self, blocks: int, args: Sequence[int | float], stream: int, threads: int = 0) -> None:
        """Run in stream order.

        args:    values of all ``parameters`` of the kernel after ``ctx``;  stream: a handle
        threads: threads of a block; 0: the backend's default
        Raises PeerTimeout if an earlier wait of this PE has given up.
        """

    def prepare(self, blocks: int, args: Sequence[int | float], left_open: tuple[int, ...], threads: int = 0) -> Run:
        """A function that launches with new values of the arguments ``left_open`` (indices): the fast path."""


def prepared_by_launch(kernel: Kernel, blocks: int, args: Sequence[int | float], left_open: tuple[int, ...]) -> Run:
    """``Kernel.prepare`` by ``Kernel.launch``."""
    values = list(args)

    def run(*new_values: int) -> None:
        for i, value in zip(left_open, new_values, strict=False):
            values[i] = value
        kernel.launch(blocks, values, new_values[-1])

    return run


class Heap(Protocol):
    """Memory of a team: symmetric memory, words of this PE, and arrays."""

    def allocate(self, nbytes: int) -> int:
        """Allocate symmetric memory and return its address.  Collective; waits for no stream.

        Raises SymmetricHeapExhausted.
        """

    def release(self, address: int) -> None:
        """Free an allocation; every PE does so in the same order.  No peer may write to it any more."""

    def taken(self, address: int) -> bool | None:
        """Whether a team of this process holds the symmetric memory at an address; None for any other memory."""

    def view(self, address: int, shape: tuple[int, ...], dtype: DType, strides: tuple[int, ...] | None = None) -> Any:
        """An array over memory that this process can access.  strides: in bytes; None: no gaps"""

    def take_words(self, words: Sequence[int]) -> int:
        """Allocate int64 words in memory of this PE until ``free_words`` or the end of the team; return their address."""

    def free_words(self, address: int) -> None:
        """Free words that no running work reads."""

    def copy_in(self, address: int, data: Any) -> None:
        """Copy a NumPy array, or an array that the current stream writes, to memory of this PE, and wait."""

    def fill(self, view: Any, value: Any) -> None:
        """Set every element of an array made by ``view``, and wait until that is done, but not for a stream."""

    def new(self, shape: tuple[int, ...], dtype: DType, stream: int) -> Any:
        """A plain array of this device for a result of work in the stream (a handle); its elements are not set."""

    def array_view(self, x: Any, writable: bool) -> ArrayView:
        """Describe a user's array.  Raises TypeError, ValueError or Unsupported."""

    def call_key(self, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """A hashable key of everything that the check of these arguments depends on; None if the check is faster."""

    def describe(self) -> list[tuple[str, str]]:
        """(name, value) lines for the environment report."""

    def close(self, kept: Collection[int]) -> None:
        """Free all memory, except that of arrays which may still be in use: it is freed after the last of them has died.

        kept: addresses of the allocations of arrays
        """


class Compiler(Protocol):
    """Makes and keeps the kernels of a team."""

    def kernel(self, kernel: Callable[..., Any], name: str, options: KernelOptions = PLAIN) -> Kernel:
        """Compile a plain function over the primitives, or return its compiled form.  name: its name in a PeerTimeout"""


class Streams(Protocol):
    """The streams of the device.

    order: the order of the launches of this process that wait for peers
    """

    order: Order

    def new(self, priority: str) -> Any:
        """A new stream of priority "normal" or "high"."""

    def current(self) -> Any:
        """The stream for the argument None."""

    def handle(self, stream: Any) -> int:
        """The handle of a stream; None is the current stream.  Raises TypeError for anything but a stream."""

    def capture_id(self, handle: int) -> int:
        """A number of the stream's open graph capture; 0 if none is open."""

    def follow(self, stream: int, predecessor: int) -> None:
        """Make a stream wait for all work that another stream holds now (handles); also during a graph capture."""

    def repeat(self, start: Body, bodies: Sequence[Body], rest: int) -> Body:
        """``run(stream)``: ``start``, then the bodies in turn, until the int64 word at address ``rest`` is not 0.

        All get a stream.  If they are captured, the bodies up to the last may run once more after that.
        """

    def hold_if_given_up(self, stream: int) -> None:
        """Stop the stream if a wait of this PE has given up; the monitor then ends the job."""

    def synchronize(self, stream: Any) -> None:
        """Wait until the stream (None: the whole device) has run.  Raises PeerTimeout."""


class Peers(Protocol):
    """The links of this PE to the other PEs.

    offsets:     for each PE, the difference between symmetric addresses on that PE and on this PE; None: no pointer
                 reaches the PE
    by_pointer:  for each PE, whether a kernel puts to the PE by stores; if not, by NVSHMEM or MPI
    stores:      NVSHMEM carries no put of the team: a put may start from any memory of this PE
    needs_scratch: ``combine`` uses its scratch, or puts to a PE that no pointer reaches start from the outbox
    ll128_safe:  a 128-byte line that a warp stores becomes visible as a whole on every peer
    ll128_in_nodes: the same for every peer of the same node
    multicast:   the multicast primitives reach all PEs
    """

    offsets: Sequence[int | None]
    by_pointer: Sequence[bool]
    stores: bool
    needs_scratch: bool
    ll128_safe: bool
    ll128_in_nodes: bool
    multicast: bool

    def put(self, dst: int, src: int, nbytes: int, pe: int, stream: int) -> bool:
        """Put by a call of the host, in stream order.  Returns False, and does nothing, if kernels make all puts."""

    def get(self, dst: int, src: int, nbytes: int, pe: int, stream: int) -> bool:
        """Get by a call of the host, in stream order.  Returns False, and does nothing, if kernels make all gets."""

    def copy(self, address: int, nbytes: int, pe: int, stream: int) -> None:
        """Copy symmetric memory to its instance on a PE, in stream order, on a GPU by the copy engine."""

    def quiet(self, stream: int) -> None:
        """Complete all earlier puts of this PE, in stream order."""

    def register(self, view: ArrayView) -> None:
        """Make an array usable as the source of a put to any PE."""

    def unregister(self, view: ArrayView) -> None:
        """Undo ``register``."""

    def describe(self) -> list[tuple[str, str]]:
        """(name, value) lines for the environment report."""

    def close(self) -> None:
        """Stop the exchange of signs of life with the peers, before the heap is closed."""


@dataclass(frozen=True)
class Backend:
    """A device's side of a team.

    bus_id:       PCI address of the device; "": none
    max_blocks:   most blocks of a launch that waits for peers: one block for each multiprocessor, which it does not fill
    resident_blocks: the same for launches whose blocks fill a multiprocessor each
    shared:       text about the cores or the GPU that several PEs share, the same on every PE; "": PEs share none
    buffer_bytes: size of one of the two buffers of a block's inbox
    has_streams:  launches return at once and run in streams, which can be captured in graphs
    checks:       all kernels are checked, with or without a request
    """

    name: str
    device_name: str
    bus_id: str
    max_blocks: int
    resident_blocks: int
    shared: str
    buffer_bytes: int
    has_streams: bool
    heap: Heap
    compiler: Compiler
    streams: Streams
    peers: Peers
    checks: bool = False

    def close(self, kept: Collection[int] = ()) -> None:
        """Free everything.  kept: see ``Heap.close``"""
        self.peers.close()
        self.heap.close(kept)
