"""The arrays of a simulated team: arrays of NumPy whose use by the host is a part of the schedule.

An operation of the host runs in the current stream, as CuPy's operations do.  The program also waits for a result that
is a number.  Accesses by fancy indices are not checked for races.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .shadow import READ, WRITE

if TYPE_CHECKING:
    from .heap import Heap

READS = (
    "all any argmax argmin argsort astype choose conj copy cumprod cumsum dot flatten item max mean min nonzero prod "
    "ravel repeat round std sum take tobytes tofile tolist trace var __contains__ __float__ __format__ __index__ __int__ "
    "__bool__ __complex__ __repr__ __str__ __deepcopy__ __copy__"
).split()
WRITES = ("fill", "partition", "put", "sort")
PLACES = (int, np.integer, slice, type(None), type(Ellipsis))  # types of indices that make a view


class TeamArray(np.ndarray[Any, Any]):
    """An array in memory of a simulated PE, or a result of such arrays.  heap: heap of its team on the PE"""

    heap: "Heap | None"

    def __array_finalize__(self, obj: Any) -> None:
        self.heap = getattr(obj, "heap", None)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        outs = out or ()
        written = [*outs, *inputs[:1]] if method == "at" else list(outs)
        used = [(array, READ) for array in inputs] + [(array, WRITE) for array in written]
        if out is not None:
            options["out"] = tuple(map(plain, outs))
        run = partial(getattr(ufunc, method), *map(plain, inputs), **options)
        result = used_by_host(self.heap or heap_of(*inputs, *outs), used, run)
        if out is not None:
            return next(iter(outs)) if len(outs) == 1 else outs
        return self._own(result)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        arrays = list(arrays_in((args, kwargs)))
        first = function.__name__ in ("copyto", "place", "put", "putmask", "fill_diagonal", "put_along_axis")
        used = [(array, WRITE if first and k == 0 else READ) for k, array in enumerate(arrays)]
        run = partial(super().__array_function__, function, types, args, kwargs)
        return used_by_host(self.heap or heap_of(*arrays), used, run)

    def __getitem__(self, key: Any) -> Any:
        if is_place(key):
            item = super().__getitem__(within(key))
            if item.ndim or key is Ellipsis or (isinstance(key, tuple) and Ellipsis in key):
                if self.heap:
                    self.heap.wait_for_current()  # a plain array of NumPy may be about to get the values
                return item
            return used_by_host(self.heap, [(item, READ)], lambda: plain(item)[()])
        return used_by_host(self.heap, [], lambda: super(TeamArray, self).__getitem__(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        used = [(super().__getitem__(within(key)), WRITE)] if is_place(key) else []
        run = partial(super().__setitem__, key, plain(value))
        used_by_host(self.heap, [(value, READ), *used], run)

    def get(self) -> Any:
        """A copy on the host, as CuPy's ``get``: the program waits for it."""
        return np.frombuffer(self.tobytes(), self.dtype).reshape(self.shape).copy()

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return used_by_host(self.heap, [(self, READ)], lambda: plain(self).copy().__reduce_ex__(protocol))

    def _own(self, result: Any) -> Any:
        """A result as a TeamArray."""
        if not isinstance(result, np.ndarray) or isinstance(result, TeamArray):
            return result
        array = result.view(TeamArray)
        array.heap = self.heap
        return array


def _wrapped(name: str, kind: int) -> Callable[..., Any]:
    """A method of NumPy's arrays that reads or writes the array."""
    method = getattr(np.ndarray, name)

    def call(self: TeamArray, *args: Any, **options: Any) -> Any:
        run = partial(method, plain(self), *map(plain, args), **options)
        return self._own(used_by_host(self.heap, [(self, kind)], run))

    call.__name__ = name
    return call


for _kind, _names in ((READ, READS), (WRITE, WRITES)):
    for _name in _names:
        setattr(TeamArray, _name, _wrapped(_name, _kind))


def plain(x: Any) -> Any:
    """The plain NumPy array of a TeamArray; any other object unchanged."""
    return x.view(np.ndarray) if isinstance(x, TeamArray) else x


def is_place(key: Any) -> bool:
    """Whether an index makes a view."""
    parts = key if isinstance(key, tuple) else (key,)
    return all(isinstance(part, PLACES) and not isinstance(part, bool | np.bool_) for part in parts)


def within(key: Any) -> Any:
    """An index that makes a view even of an element."""
    if key is Ellipsis or (isinstance(key, tuple) and Ellipsis in key):
        return key
    return (*key, ...) if isinstance(key, tuple) else (key, ...)


def arrays_in(values: Any) -> Iterator[TeamArray]:
    """The TeamArrays among arguments."""
    if isinstance(values, TeamArray):
        yield values
    elif isinstance(values, dict):
        yield from arrays_in(list(values.values()))
    elif isinstance(values, list | tuple):
        for value in values:
            yield from arrays_in(value)


def heap_of(*values: Any) -> "Heap | None":
    """The heap of the first array that has one."""
    return next((value.heap for value in values if isinstance(value, TeamArray) and value.heap), None)


def used_by_host(heap: "Heap | None", used: Any, run: Callable[[], Any]) -> Any:
    """The result of ``run``, as an operation of the host.  used: (array, READ or WRITE) of its accesses"""
    if heap is None:
        return run()
    return heap.run_by_host([(array, kind) for array, kind in used if isinstance(array, TeamArray)], run)
