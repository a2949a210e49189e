"""What a backend gives the library: facts about the device, and four parts, the same for a CPU and for a GPU.

``host/`` and ``cuda/`` have a file of the same name for each part: heap.py, compiler.py, streams.py, peers.py.  So has
``simulator/``, whose peers are in links.py.
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

Run = Callable[..., None]  # called with the arguments left open and a stream handle
Body = Callable[[Any], object]  # called with a stream


class Kernel(Protocol):
    """A compiled kernel, ready to launch."""

    def launch(self, blocks: int, args: Sequence[int | float], stream: int, threads: int = 0) -> None:
        """Run in stream order.

        args:    the values of all ``parameters`` of the kernel after ``ctx``;  stream: a handle
        threads: of a block; 0: the backend's own number
        Raises PeerTimeout when an earlier wait of this PE has given up.
        """

    def prepare(self, blocks: int, args: Sequence[int | float], left_open: tuple[int, ...], threads: int = 0) -> Run:
        """The launch with the arguments of the indices ``left_open`` to be given at each call: the fast path."""


def prepared_by_launch(kernel: Kernel, blocks: int, args: Sequence[int | float], left_open: tuple[int, ...]) -> Run:
    """``Kernel.prepare`` by ``Kernel.launch``."""
    values = list(args)

    def run(*given: int) -> None:
        for i, value in zip(left_open, given, strict=False):
            values[i] = value
        kernel.launch(blocks, values, given[-1])

    return run


class Heap(Protocol):
    """Memory of one team: symmetric memory, words of this PE, and arrays."""

    def allocate(self, nbytes: int) -> int:
        """Allocate symmetric memory and return its address.  Collective; waits for no stream.

        Raises SymmetricHeapExhausted.
        """

    def release(self, address: int) -> None:
        """Give an allocation back, as every PE does in the same order.  No peer may write there any more."""

    def taken(self, address: int) -> bool | None:
        """Whether a team of this process holds the symmetric memory at an address; None for any other memory."""

    def view(self, address: int, shape: tuple[int, ...], dtype: DType, strides: tuple[int, ...] | None = None) -> Any:
        """An array over memory that this process can reach.  strides: in bytes; None: it has no gaps"""

    def take_words(self, words: Sequence[int]) -> int:
        """Allocate int64 words in memory of this PE, until ``free_words`` or the end of the team; their address."""

    def free_words(self, address: int) -> None:
        """Give words back that nothing in flight reads."""

    def copy_in(self, address: int, data: Any) -> None:
        """Copy a NumPy array, or an array that the current stream makes, to memory of this PE and wait."""

    def fill(self, view: Any, value: Any) -> None:
        """Set every element of an array made by ``view``, and wait until that is done, but for no stream."""

    def new(self, shape: tuple[int, ...], dtype: DType, stream: int) -> Any:
        """A plain array of this device, not set, for a result that a call in the stream (a handle) writes."""

    def array_view(self, x: Any, writable: bool) -> ArrayView:
        """Describe a user's array.  Raises TypeError, ValueError or Unsupported."""

    def call_key(self, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """All that the check of a call with these arguments depends on; None where that takes longer than to check."""

    def describe(self) -> list[tuple[str, str]]:
        """(what, value) lines for the environment report."""

    def close(self, kept: Collection[int]) -> None:
        """Give all memory back; what an array may still lie in when the last array has died.

        kept: addresses of the allocations of arrays
        """


class Compiler(Protocol):
    """Makes and keeps the kernels of one team."""

    def kernel(self, kernel: Callable[..., Any], name: str, options: KernelOptions = PLAIN) -> Kernel:
        """Compile a plain function over the primitives, or find it compiled.  name: what a PeerTimeout calls it"""


class Streams(Protocol):
    """The streams of the device.

    order: of the launches of this process that wait for peers
    """

    order: Order

    def new(self, priority: str) -> Any:
        """A new stream of priority "normal" or "high"."""

    def current(self) -> Any:
        """The stream that None stands for."""

    def handle(self, stream: Any) -> int:
        """The handle of a stream; None is the current stream.  Raises TypeError for anything but a stream."""

    def capture_id(self, handle: int) -> int:
        """A number that names the graph capture under way on the stream; 0 where none is."""

    def follow(self, stream: int, other: int) -> None:
        """Make a stream wait for all that the other one holds now (handles); also in a graph capture."""

    def repeat(self, start: Body, bodies: Sequence[Body], rest: int) -> Body:
        """``run(stream)``: ``start``, then the bodies in turn, until the int64 word at address ``rest`` is not 0.

        All are called with a stream.  Where they are captured, bodies up to the last one may run once more after that.
        """

    def hold_if_given_up(self, stream: int) -> None:
        """Stop the stream here once a wait of this PE has given up; the monitor then ends the job."""

    def synchronize(self, stream: Any) -> None:
        """Wait until the stream (None: the whole device) has run.  Raises PeerTimeout."""


class Peers(Protocol):
    """How this PE reaches the others.

    offsets:     by PE: what to add to a symmetric address to get that PE's instance; None where no pointer reaches it
    by_pointer:  by PE: whether a kernel puts to it by stores; if not, by NVSHMEM or MPI
    stores:      NVSHMEM carries no put of the team: a put may start from any memory of this PE
    needs_scratch: ``combine`` uses its scratch, or puts to a PE that no pointer reaches start from the outbox
    ll128_safe:  a 128-byte line written by a warp reaches every peer at once
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
        """Put by the device's copy engine in stream order.  Returns False, and does nothing, where it has none."""

    def get(self, dst: int, src: int, nbytes: int, pe: int, stream: int) -> bool:
        """Get by the device's copy engine in stream order.  Returns False, and does nothing, where it has none."""

    def copy(self, address: int, nbytes: int, pe: int, stream: int) -> None:
        """Copy symmetric memory to its instance on a PE that a pointer reaches, by the copy engine, in stream order."""

    def quiet(self, stream: int) -> None:
        """Complete all earlier puts of this PE, in stream order."""

    def register(self, view: ArrayView) -> None:
        """Make an array usable as the source of a put to any PE."""

    def unregister(self, view: ArrayView) -> None:
        """Undo ``register``."""

    def describe(self) -> list[tuple[str, str]]:
        """(what, value) lines for the environment report."""

    def close(self) -> None:
        """Stop the exchange of signs of life with the peers, before the heap is closed."""


@dataclass(frozen=True)
class Backend:
    """One device's side of a team.

    bus_id:       PCI address of the device, "" where it has none
    max_blocks:   blocks at most of a launch that waits for peers: one a multiprocessor, where it leaves room
    resident_blocks: the same of a launch whose blocks fill a multiprocessor each
    shared:       the cores or the GPU that several PEs share, in words, the same on every PE; "" where each has its own
    buffer_bytes: of one of the two buffers of a block's inbox
    has_streams:  launches return at once and run in streams, which can be captured in graphs
    checks:       all kernels are checked, whether they ask for it or not
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
        """Give everything back.  kept: see ``Heap.close``"""
        self.peers.close()
        self.heap.close(kept)
