"""What a backend gives the library: the same for a CPU and for a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .arrays.dtypes import DType
from .arrays.span import Span
from .errors import PeerTimeout

if TYPE_CHECKING:
    from .memory.order import Order

Run = Callable[..., None]  # (the arguments left open, stream handle)


class Kernel(Protocol):
    """A compiled text, ready to launch."""

    def launch(self, blocks: int, args: Sequence[int | float], stream: int, threads: int = 0) -> None:
        """Run in stream order.  args: all of the text's parameters after ``ctx``; stream: a handle."""

    def prepare(self, blocks: int, args: Sequence[int | float], left_open: tuple[int, ...], threads: int = 0) -> Run:
        """The launch with some of its arguments, by index, left open: the fast path."""


class Backend(Protocol):
    """One device's side of a team.

    max_blocks:  blocks of a launch that waits for peers: one a multiprocessor, on which it leaves room
    buffer_bytes:  of one parity of a block's inbox
    has_streams: launches return at once and run in streams, which can be captured in graphs
    order:       of the launches of this process that wait for peers
    needs_scratch: ``combine`` uses its scratch, or puts to a PE that no pointer reaches start from a lane's outbox
    ll128_safe: a 128-byte line written by a warp reaches every peer at once
    multicast:   the multicast primitives reach all PEs
    bus_id:      PCI address of the device, "" where there is none
    """

    name: str
    device_name: str
    bus_id: str
    max_blocks: int
    buffer_bytes: int
    threads: int
    has_streams: bool
    order: Order
    needs_scratch: bool
    ll128_safe: bool
    multicast: bool

    def allocate(self, nbytes: int) -> int:
        """Address of symmetric memory.  Collective, and waits for no stream; raises SymmetricHeapExhausted."""

    def release(self, address: int) -> None:
        """Give an allocation back, when no peer writes there any more."""

    def local_words(self, words: Sequence[int]) -> int:
        """Address of int64 words in memory of this PE, kept for the team's life."""

    def zero(self, address: int, nbytes: int) -> None:
        """Clear memory of this PE and wait until it is done, but for no stream."""

    def view(self, address: int, shape: tuple[int, ...], dtype: DType) -> Any:
        """An array over memory that this process can reach."""

    def copy_in(self, address: int, data: Any) -> None:
        """Copy a NumPy array, or one that the current stream makes, to memory of this PE and wait."""

    def fill(self, view: Any, value: Any) -> None:
        """Set every element of an array made by ``view``, and wait until it is done."""

    def in_heap(self, address: int) -> bool:
        """True for an address that is, or was, in the symmetric heap of a team of this process."""

    def taken(self, address: int) -> bool:
        """True for an address in symmetric memory that a team of this process holds now."""

    def delta(self, pe: int) -> int | None:
        """What to add to a symmetric address to get PE pe's instance, or None."""

    def puts_by_pointer(self, pe: int) -> bool:
        """True when a kernel's put to PE ``pe`` is a store (else NVSHMEM carries it)."""

    def span(self, x: Any, writable: bool) -> Span:
        """Describe a user's array.  Raises TypeError or ValueError."""

    def kernel(
        self,
        text: Callable[..., Any],
        name: str,
        kinds: str | None = None,
        elements: DType | None = None,
        reduction: tuple[DType, str] | None = None,
        constants: dict[str, int] | None = None,
        aligned: bool = False,
        bounds: tuple[int, int] | None = None,
    ) -> Kernel:
        """Compile a text, or find it compiled.

        name:      what a PeerTimeout calls it
        kinds:     a letter per parameter after ``ctx``: "i" int64 (all, when None), "f" float64
        elements:  dtype of ``load``, ``store`` and ``real``
        reduction: dtype and op of ``widen``, ``reduce`` and ``finish``
        constants: parameters whose value the machine code may hold
        aligned:   all arrays start at, and end on, multiples of 16 bytes
        bounds:    threads of a block at most, and blocks that a multiprocessor must be able to hold at a time;
                   None: a block leaves room on its multiprocessor for others
        """

    def stream(self, priority: str) -> Any:
        """A new stream of priority "normal" or "high"."""

    def stream_handle(self, stream: Any) -> int:
        """The handle of a stream; None is the current one.  Raises TypeError for what is none."""

    def capture_id(self, handle: int) -> int:
        """A number that names the graph capture under way on the stream, or 0."""

    def synchronize(self, stream: Any) -> None:
        """Wait until the stream (None: the whole device) has run.  Raises PeerTimeout."""

    def failure(self) -> PeerTimeout | None:
        """The first wait on this PE that gave up, or None."""

    def host_put(self, dst: int, src: int, nbytes: int, pe: int, stream: int) -> bool:
        """Put by the device's copy engine; False if it has none."""

    def host_get(self, dst: int, src: int, nbytes: int, pe: int, stream: int) -> bool:
        """Get by the device's copy engine; False if it has none."""

    def copy_to(self, address: int, nbytes: int, pe: int, stream: int) -> None:
        """Copy symmetric memory to the same place on a PE that a pointer reaches, by the copy engine, in stream order."""

    def hold_if_given_up(self, stream: int) -> None:
        """Let nothing behind run on the stream once a wait of this PE has given up; the watchdog then ends the job."""

    def quiet(self, stream: int) -> None:
        """Complete all earlier puts, in stream order."""

    def register(self, span: Span) -> None:
        """Make an array usable as the source of a put to any PE."""

    def unregister(self, span: Span) -> None:
        """Undo ``register``."""

    def bytes_sent(self) -> np.ndarray:
        """(n_pes,) int64: bytes put to each PE so far.  Raises Unsupported where nothing counts them."""

    def describe(self) -> list[tuple[str, str]]:
        """(what, value) lines for the environment report."""

    def close(self) -> None:
        """Give everything back.  Collective."""
