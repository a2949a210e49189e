"""Whole fields: on one PE, and in files."""

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays.array_view import ArrayView
from ...arrays.dtypes import DType
from ...backend import Backend
from ...collectives.base import CollectiveContext
from ...errors import Unsupported
from ...files import replacing, why_no_file
from ...job import liveness
from ...job.on_all import Result, on_all
from . import xdmf
from .decomposition import Decomposition
from .layout import layout_of
from .messages import points_of

FILES = "v110"  # the oldest format of HDF5 with checksums of everything except the data, which have their own
Data = np.ndarray[Any, Any]


def device_array(backend: Backend, data: Data, dtype: DType) -> Any:
    """The data as a plain array of the device."""
    array = backend.heap.new(data.shape, dtype, backend.streams.handle(None))
    backend.heap.copy_in(backend.heap.array_view(array, True).address, data)
    return array


def _in_file(value: Any) -> Any:
    """A number as it is, a text as bytes of fixed length: HDF5 keeps texts of variable length without checksums."""
    if not isinstance(value, str):
        return value
    if "\0" in value:
        raise ValueError("a text has the character 0, at which a text in a file ends: leave it out")
    return np.bytes_(value.encode())


def _from_file(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    return value.item() if isinstance(value, np.generic) else value


# The most that HDF5 adds to a file: the index of chunks, 1 / INDEX_SHARE of the data; names and attributes.
INDEX_SHARE, MOST_HEADER_BYTES = 50, 1 << 20


class Whole:
    """``Grid.gather``, ``Grid.save`` and ``Grid.load``.  All methods are collective.  get: ``Team.get``"""

    def __init__(self, context: CollectiveContext, get: Callable[..., None], grid: Decomposition):
        self._backend, self._job, self._get, self._grid = context.backend, context.job, get, grid

    def gather(self, view: ArrayView, root: int) -> Data | None:
        def read() -> Data:
            whole = np.empty(self._grid.shape, view.dtype.numpy)
            for part, points in self._parts(view):
                whole[part] = points
            return whole

        return self._on_one(root, "gather of a field", read)

    def save(self, path: Path, views: Mapping[str, ArrayView], plain: Mapping[str, Any]) -> None:
        import h5py

        for name, view in views.items():
            if view.dtype.numpy.kind == "V" or view.dtype.name == "bfloat16":
                raise Unsupported(f"HDF5 has no {view.dtype.name}: save {name} as float32")

        def write() -> None:
            # HDF5 crashes Python if the disk becomes full, so the file is allocated first.
            nbytes = sum(view.dtype.item_bytes for view in views.values()) * math.prod(self._grid.shape)
            with replacing(path) as part, open(part, "w+b") as raw:
                os.posix_fallocate(raw.fileno(), 0, nbytes + nbytes // INDEX_SHARE + MOST_HEADER_BYTES)
                os.ftruncate(raw.fileno(), 0)
                with h5py.File(raw, "w", libver=FILES) as file:
                    for name, view in views.items():
                        data = file.create_dataset(name, self._grid.shape, view.dtype.numpy, fletcher32=True)
                        for part_of_grid, points in self._parts(view):
                            data[part_of_grid] = points
                    file.attrs.update({name: _in_file(value) for name, value in plain.items()})
                raw.flush()
                os.fsync(raw.fileno())  # before the file replaces an older file
            dtypes = {name: view.dtype for name, view in views.items()}
            with replacing(xdmf.name_of(path)) as part:
                part.write_text(xdmf.page(path, self._grid.shape, dtypes))

        self._on_one(0, f"save of {', '.join(views)}", write)

    def load(self, path: Path, fields: Mapping[str, tuple[Any, ArrayView]]) -> dict[str, Any]:
        views = {name: view for name, (_, view) in fields.items()}
        what = f"load of {', '.join(fields)}"
        datasets, plain = on_all(self._job, what, lambda: self._read(path, views), error_type=OSError)
        for (u, view), data in zip(fields.values(), datasets, strict=True):
            u[self._own(self._job.me)] = device_array(self._backend, data, view.dtype)
        return plain

    def _read(self, path: Path, views: Mapping[str, ArrayView]) -> tuple[list[Data], dict[str, Any]]:
        """This PE's own points of datasets, and the numbers and texts of the file.  Raises OSError, ValueError."""
        if reason := why_no_file(path):  # a pipe would wait for its writer
            raise OSError(f"{path} cannot be read: {reason}")
        try:
            return self._datasets(path, views)
        except (KeyError, RuntimeError, TypeError) as error:  # h5py raises these for a damaged file
            raise OSError(f"{path} cannot be read: {error}") from None

    def _datasets(self, path: Path, views: Mapping[str, ArrayView]) -> tuple[list[Data], dict[str, Any]]:
        """``_read`` of a file that exists.  Raises h5py's errors, too."""
        import h5py

        datasets = []
        with h5py.File(path, "r", locking=False) as file:
            for name, view in views.items():
                data = file.get(name)
                if not isinstance(data, h5py.Dataset):
                    raise ValueError(f"{path} has no dataset {name}, but {', '.join(file) or 'none'}")
                if data.shape != self._grid.shape or data.dtype != view.dtype.numpy:
                    wanted = f"{self._grid.shape} {view.dtype.name}"
                    raise ValueError(f"{path} has {name} of {data.shape} {data.dtype}, and the field is of {wanted}")
                datasets.append(np.asarray(data[self._grid.part(self._job.me)]))
            return datasets, {name: _from_file(value) for name, value in file.attrs.items()}

    def _own(self, pe: int) -> tuple[slice, ...]:
        """A PE's own points, as slices of its array."""
        return points_of(self._grid, pe, (0,) * len(self._grid.shape))

    def _parts(self, view: ArrayView) -> Iterator[tuple[tuple[slice, ...], Data]]:
        """(slices of the whole grid, own points) of each PE in turn."""
        heap, handle = self._backend.heap, self._backend.streams.handle(None)
        for pe in range(self._job.n_pes):
            rows = layout_of(self._grid, pe, view.dtype.item_bytes).stored
            n = math.prod(rows)
            flat = heap.new((n,), view.dtype, handle)
            self._get(flat, heap.view(view.address, (n,), view.dtype), pe)
            points = np.asarray(flat.get() if hasattr(flat, "get") else flat).reshape(rows)
            yield self._grid.part(pe), points[self._own(pe)]
            liveness.show_alive(time.monotonic_ns())  # the other PEs wait

    def _on_one(self, pe: int, what: str, work: Callable[[], Result]) -> Result | None:
        """The result of ``work`` on one PE, while no PE changes its fields.  Raises its error on every PE."""
        self._backend.streams.synchronize(None)
        self._job.rendezvous(what)  # after this all fields are computed
        own: Callable[[], Result | None] = work if self._job.me == pe else lambda: None
        return on_all(self._job, f"end of {what}", own, error_type=OSError)
