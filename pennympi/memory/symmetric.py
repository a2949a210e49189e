"""Symmetric arrays: their allocation, and views of the peers' instances."""

import math
from bisect import bisect_right, insort
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar
from weakref import ref

from ..arrays.array_view import ArrayView
from ..arrays.dtypes import DType, dtype_of, ints
from ..backend import Backend
from ..errors import Unsupported
from ..job.job import Job
from ..job.on_all import on_all
from ..state import state
from .plans import Plans
from .workspace import Workspaces

MOST_DIMENSIONS = 32  # most dimensions of CuPy's arrays
MOST_KINDS = 1024  # most launches that are kept for an operation
OF_ANOTHER_TEAM = "the array belongs to another team: pass a copy, or an array made by this team"
FREED = "the array was freed: its memory is back in the symmetric heap"
MOST_ELEMS = 1 << 59  # with 8 bytes for each, the number of bytes fits into 63 bits

T = TypeVar("T")


class Storage(NamedTuple):
    """The place of an array with gaps in its allocation.

    number:  number of elements of the allocation;  first: index of the array's first element; the same on every PE
    strides: strides of the array, in bytes;  largest: the PEs' shape with the most elements
    """

    number: int
    first: int
    strides: tuple[int, ...]
    largest: tuple[int, ...]


class SymmetricArrays:
    """The arrays of a team in its symmetric heap, and the ``plans`` that end with them."""

    def __init__(self, backend: Backend, job: Job, workspaces: Workspaces):
        self._backend, self._job, self._workspaces = backend, job, workspaces
        self.plans = Plans()
        state.changes += 1
        self._live: dict[int, tuple[int, Any]] = {}  # address -> (bytes, array)
        self._stored: dict[int, tuple[Storage, ArrayView]] = {}  # {id of an array with a storage: its storage and view}
        self._starts: list[int] = []  # addresses of the live arrays, in order
        self._registered: dict[int, int] = {}  # address -> bytes

    def empty(self, shape: Any, dtype: Any, storage: Storage | None = None) -> Any:
        """A new array, not initialised, of the same shape and dtype on every PE.  Collective.

        shape: int or ints;  dtype: name or dtype of an element type in ``arrays.dtypes.TABLE``
        storage: None, or place of the array in its allocation; the shapes of the PEs may then differ
        Raises ValueError if the PEs ask for different arrays, TypeError or ValueError for a wrong shape, Unsupported
        for another dtype, SymmetricHeapExhausted.
        """

        def request() -> tuple[DType, tuple[int, ...], int]:
            element, sizes = dtype_of(dtype), _shape(shape)
            return element, sizes, (math.prod(sizes) if storage is None else storage.number) * element.item_bytes

        element, sizes, nbytes = on_all(
            self._job,
            "symmetric array",
            request,
            lambda array: f"{storage.largest if storage else array[1]} {array[0].name} in {array[2]} bytes",
        )
        address = self._workspaces.with_room(lambda: self._backend.heap.allocate(max(nbytes, 1)))
        if storage is None:
            array = self._backend.heap.view(address, sizes, element)
        else:
            start = address + storage.first * element.item_bytes
            array = self._backend.heap.view(start, sizes, element, storage.strides)
            count = (
                1 + sum((n - 1) * stride for n, stride in zip(sizes, storage.strides, strict=True)) // element.item_bytes
            )
            self._stored[id(array)] = storage, ArrayView(start, count, element, array)
        insort(self._starts, address)
        self._live[address] = max(nbytes, 1), array
        state.changes += 1
        return array

    def set(self, array: Any, put_values: Callable[[], None]) -> Any:
        """Set the values of a new array, and return it.  If one PE fails, all PEs free the array.  Collective.

        Raises the error of ``put_values``, or a ValueError that names another PE and its error.
        """
        try:
            on_all(self._job, "set-up of an array", put_values)
        except Exception:  # no caller has the array, so no work with it is in flight
            self._give_back(self._address_of(array))
            raise
        return array

    def free(self, x: Any) -> None:
        """Free an array that ``empty`` returned.  Collective.  Raises ValueError for any other array."""
        address = self._address_of(x)
        if address == 0:
            raise ValueError(
                "free() takes the array that empty(), zeros(), full(), array() or signals() returned, once; "
                "not a view of it, and not another array"
            )
        self._backend.streams.synchronize(None)  # launches in flight may still write the array, on this PE or a peer
        self._job.rendezvous(f"free of symmetric array {self._starts.index(address)}")  # the same array on every PE
        why = "an array of this plan was freed: make the plan anew with arrays that live"
        self.plans.end(ValueError, why, address, self._live[address][0])
        self._give_back(address)
        freed, key = state.freed, id(x)
        freed[key] = ref(x, lambda _: freed.pop(key, None))

    def _address_of(self, x: Any) -> int:
        """The address of the allocation of an array that ``empty`` returned, or 0."""
        return next((address for address, (_, array) in self._live.items() if array is x), 0)

    def _give_back(self, address: int) -> None:
        self._backend.heap.release(address)
        self._starts.remove(address)
        self._stored.pop(id(self._live.pop(address)[1]), None)
        state.changes += 1

    def array_view(self, x: Any, writable: bool) -> ArrayView:
        """``Heap.array_view``, which for an array with a storage reaches from its first element to its last."""
        if id(x) in self._stored:
            return self._stored[id(x)][1]
        try:
            return self._backend.heap.array_view(x, writable)
        except ValueError:
            self._check_lives(x)
            raise

    def whole(self, x: Any) -> Any:
        """All elements of the allocation of an array with a storage, as an array without gaps."""
        storage, view = self._stored[id(x)]
        return self._backend.heap.view(
            view.address - storage.first * view.dtype.item_bytes, (storage.number,), view.dtype
        )

    def storage(self, x: Any) -> Storage | None:
        """The storage of an array, or None."""
        return self._stored[id(x)][0] if id(x) in self._stored else None

    def holds(self, view: ArrayView) -> bool:
        """True if the memory is inside a live symmetric array of this team.

        Raises ValueError for memory of the heap that has been freed, or that another team holds.
        """
        if self.locate(view.address, view.nbytes):
            if state.freed:
                self._check_lives(view.owner)
            return True
        taken = self._backend.heap.taken(view.address)
        if taken is not None:
            raise ValueError(OF_ANOTHER_TEAM if taken else FREED)
        return False

    def _check_lives(self, array: Any) -> None:
        """Raise ValueError for a freed array or its view, whose memory may already belong to a newer array."""
        while array is not None:
            freed = state.freed.get(id(array))
            if freed is not None and freed() is array:
                raise ValueError(FREED)
            array = getattr(array, "base", None)

    def locate(self, address: int, nbytes: int) -> tuple[int, int] | None:
        """(index of the live symmetric array, offset in it in bytes), or None for memory outside these arrays.

        The pair names the same memory on every PE.
        """
        i = bisect_right(self._starts, address) - 1
        if i < 0:
            return None
        start = self._starts[i]
        return (i, address - start) if address + nbytes <= start + self._live[start][0] else None

    def extent(self, address: int) -> tuple[int, int] | None:
        """(address, bytes) of the live symmetric array that an address lies in, or None."""
        location = self.locate(address, 1)
        start = address - location[1] if location else 0
        return (start, self._live[start][0]) if location else None

    def peer(self, x: Any, pe: int) -> Any:
        """A view of PE ``pe``'s instance of ``x``, a symmetric array or its view.

        Raises ValueError for any other array, Unsupported if no pointer reaches the PE.
        """
        view, storage = self.array_view(x, writable=False), self.storage(x)
        if not self.holds(view):
            raise ValueError(
                "peer() takes a symmetric array (team.empty and so on): no other array has an instance on a peer"
            )
        peer_offset = self._backend.peers.offsets[pe]
        if peer_offset is None:
            raise Unsupported(f"no pointer of this PE reaches PE {pe}: use team.get or team.put")
        return self._backend.heap.view(
            view.address + peer_offset, tuple(view.owner.shape), view.dtype, storage and storage.strides
        )

    def let_go(self) -> list[int]:
        """Forget all arrays at the end of the team.  Returns their addresses, since peers may still read their memory."""
        starts, self._starts, self._live = self._starts, [], {}
        self._stored = {}
        return starts

    def register(self, x: Any) -> None:
        """Make ``x``, an array outside the heap, a valid source of puts to any PE.  Raises ValueError if it is already
        valid."""
        view = self._backend.heap.array_view(x, writable=False)
        if self.holds(view) or view.address in self._registered:
            raise ValueError("register() is for an array outside the symmetric heap that is not registered yet")
        self._backend.peers.register(view)
        self._registered[view.address] = view.nbytes
        state.changes += 1

    def unregister(self, x: Any) -> None:
        """Undo ``register``.  Raises ValueError if ``x`` is not registered."""
        view = self._backend.heap.array_view(x, writable=False)
        if self._registered.pop(view.address, None) is None:
            raise ValueError("unregister() takes an array that register() has registered")
        state.changes += 1
        self._backend.peers.unregister(view)

    def known(self, view: ArrayView) -> bool:
        """True for symmetric and registered memory, the valid sources of puts to a PE that no pointer reaches."""
        if self.holds(view):
            return True
        return any(
            start <= view.address and view.address + view.nbytes <= start + nbytes
            for start, nbytes in self._registered.items()
        )


class KeptChecks:
    """What the checks of calls have found, by their arguments: a check takes longer than a message to another node."""

    def __init__(self, backend: Backend):
        self._key_of, self._found = backend.heap.call_key, dict[tuple[Any, ...] | None, Any]()

    def result(self, check: Callable[..., Any], *arguments: Any) -> Any:
        """``check(*arguments)``, which is called again after a change of the memory that teams hold."""
        key = None if state.freed else self._key_of((state.changes, *arguments))
        known = self._found.get(key)
        if known is None:
            known = check(*arguments)
            if key:
                keep(self._found, key, known)
        return known


def keep(kept: dict[Any, T], key: Any, value: T) -> T:
    """Keep a value for the next call, and return it.  Above MOST_KINDS the oldest value is dropped."""
    kept[key] = value
    if len(kept) > MOST_KINDS:
        del kept[next(iter(kept))]
    return value


def _shape(shape: Any) -> tuple[int, ...]:
    """A shape as a tuple.  Raises TypeError if it holds other things than ints, ValueError if no array can have it."""
    sizes = ints("shape", shape)
    if any(n < 0 for n in sizes):
        raise ValueError(f"shape {sizes} has a negative size")
    if len(sizes) > MOST_DIMENSIONS:
        raise ValueError(f"a shape of {len(sizes)} dimensions: an array has at most {MOST_DIMENSIONS}")
    if math.prod(max(n, 1) for n in sizes) >= MOST_ELEMS:
        raise ValueError(f"shape {sizes} has more elements than any memory")
    return sizes
