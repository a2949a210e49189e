"""Whole fields: on one PE, and in files."""

import math
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays.array_view import ArrayView
from ..collectives.base import CollectiveContext
from ..errors import Unsupported
from ..files import replacing
from ..job import liveness
from ..job.on_all import on_all
from ..rma import OneSided
from .decomposition import Decomposition
from .layout import layout_of
from .messages import sent

Take = Callable[[tuple[slice, ...], np.ndarray[Any, Any]], None]  # a part of the whole grid, and its points


def to_host(x: Any) -> np.ndarray[Any, Any]:
    """A NumPy array of an array's values."""
    return np.asarray(x.get() if hasattr(x, "get") else x)


def part_of(grid: Decomposition, pe: int) -> tuple[slice, ...]:
    """Where a PE's own points lie in the whole grid."""
    return tuple(slice(low, low + n) for low, n in zip(grid.first(pe), grid.own(pe), strict=True))


class Whole:
    """Whole fields of a grid."""

    def __init__(self, context: CollectiveContext, rma: OneSided, grid: Decomposition):
        self._backend, self._job, self._rma, self._grid = context.backend, context.job, rma, grid

    def gather(self, view: ArrayView, root: int) -> np.ndarray[Any, Any] | None:
        """``Grid.gather``."""
        found: list[np.ndarray[Any, Any]] = []

        def read() -> None:
            found.append(np.empty(self._grid.shape, view.dtype.numpy))
            self._read_all(view, lambda part, points: found[0].__setitem__(part, points))

        self._alone(root, "gather of a field", read)
        return found[0] if found else None

    def save(self, path: Path, views: Mapping[str, ArrayView], plain: Mapping[str, Any]) -> None:
        """``Grid.save``."""
        import h5py

        for name, view in views.items():
            if view.dtype.numpy.kind == "V" or view.dtype.name == "bfloat16":
                raise Unsupported(f"HDF5 has no {view.dtype.name}: save {name} as float32")

        def write() -> None:
            # HDF5's own driver crashes Python on a full disk; a file of Python's raises OSError.
            with replacing(path) as part, open(part, "w+b") as raw:
                with h5py.File(raw, "w") as file:
                    for name, view in views.items():
                        data = file.create_dataset(name, self._grid.shape, view.dtype.numpy)
                        self._read_all(view, data.__setitem__)
                    file.attrs.update(plain)
                raw.flush()
                os.fsync(raw.fileno())  # before it takes the older file's name

        self._alone(0, f"save of {', '.join(views)}", write)

    def load(self, path: Path, fields: Mapping[str, tuple[Any, ArrayView]]) -> dict[str, Any]:
        """``Grid.load``."""
        views = {name: view for name, (_, view) in fields.items()}
        what = f"load of {', '.join(fields)}"
        found, plain = on_all(self._job, what, lambda: self._read(path, views), otherwise=OSError)
        me, grid = self._job.me, self._grid
        inner = sent(grid.own(me), grid.halo, (0,) * len(grid.shape))
        for (u, view), data in zip(fields.values(), found, strict=True):
            points = self._backend.heap.new(data.shape, view.dtype, self._backend.streams.handle(None))
            if data.size:
                self._backend.heap.copy_in(self._backend.heap.array_view(points, True).address, data)
            u[inner] = points
        return plain

    def _read(self, path: Path, views: Mapping[str, ArrayView]) -> tuple[list[np.ndarray[Any, Any]], dict[str, Any]]:
        """This PE's own points of datasets, and the numbers and texts of the file.  Raises OSError, ValueError."""
        import h5py

        found = []
        with h5py.File(path, "r", locking=False) as file:
            for name, view in views.items():
                if name not in file:
                    raise ValueError(f"{path} has no dataset {name}, but {', '.join(file) or 'none'}")
                data = file[name]
                if data.shape != self._grid.shape or data.dtype != view.dtype.numpy:
                    wanted = f"{self._grid.shape} {view.dtype.name}"
                    raise ValueError(f"{path} has {name} of {data.shape} {data.dtype}, and the field is of {wanted}")
                found.append(np.asarray(data[part_of(self._grid, self._job.me)]))
            return found, {name: one.item() if isinstance(one, np.generic) else one for name, one in file.attrs.items()}

    def _read_all(self, view: ArrayView, take: Take) -> None:
        """Read the own points of one PE after the other."""
        backend, grid = self._backend, self._grid
        handle = backend.streams.handle(None)
        for pe in range(self._job.n_pes):
            rows = layout_of(grid, pe, view.dtype.item_bytes).stored
            n = math.prod(rows)
            flat = backend.heap.new((n,), view.dtype, handle)
            self._rma.get(flat, backend.heap.view(view.address, (n,), view.dtype), pe, handle)
            points = to_host(flat).reshape(rows)[sent(grid.own(pe), grid.halo, (0,) * len(rows))]
            take(part_of(grid, pe), points)
            liveness.show_alive(time.monotonic_ns())  # to the others, who wait

    def _alone(self, pe: int, what: str, work: Callable[[], None]) -> None:
        """Let one PE work while the fields of all stay as they are.  Collective.  Raises its error on every PE."""
        self._backend.streams.synchronize(None)
        self._job.rendezvous(what)  # by now all fields are computed
        on_all(self._job, f"end of {what}", work if self._job.me == pe else lambda: None, otherwise=OSError)
