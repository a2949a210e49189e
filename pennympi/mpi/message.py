"""A buffer argument of mpi4py, read as mpi4py reads it: its memory, its elements, and the bytes of its message."""

from __future__ import annotations

from itertools import accumulate
from mmap import mmap
from operator import index
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

from ..arrays.dlpack import CUDA, CUDA_MANAGED
from ..arrays.dtypes import ALL, dtype_of

_SPECS = (list, tuple)  # quicker than their union
_ON_HOST = {np.ndarray, bytearray, bytes, memoryview, mmap}
_handle_of = MPI._handleof
_DEVICE = (2, 3)  # cudaMemoryTypeDevice, cudaMemoryTypeManaged
UNKNOWN = 1 << 62  # bytes, of what takes longer to read


class NotRead(Exception):
    """mpi4py takes no such argument, and says why."""


class Element(NamedTuple):
    """What a message consists of.

    size, extent: in bytes;  is_dense: elements follow one another without a gap, in order
    dtype:    NumPy's of the numbers in it, None where they are not of one type that a team knows
    datatype: MPI's, None where NumPy's dtype was enough
    """

    size: int
    extent: int
    is_dense: bool
    dtype: np.dtype | None
    datatype: Any = None


class Message(NamedTuple):
    """``n_elems`` elements from element ``start`` of a buffer on."""

    buffer: Any
    element: Element
    n_elems: int
    start: int = 0

    @property
    def n_bytes(self) -> int:
        return self.n_elems * self.element.size


class Parts(NamedTuple):
    """A part for each rank: ``counts`` elements from ``starts`` on."""

    buffer: Any
    element: Element
    counts: list[int]
    starts: list[int]

    @property
    def n_bytes(self) -> int:
        return sum(self.counts) * self.element.size


NUMPY_DTYPES = {one.numpy: Element(one.item_bytes, one.item_bytes, True, one.numpy) for one in ALL.values()}
_PREDEFINED: dict[int, Element] = {}  # by the datatype's handle


def is_plain(x: Any) -> bool:
    """Whether a team on CPUs takes an argument as it is."""
    return type(x) is np.ndarray and x.flags.carray and x.dtype in NUMPY_DTYPES


def is_plain_pair(x: Any, out: Any) -> bool:
    """Whether it takes both, of the same elements."""
    return is_plain(x) and is_plain(out) and x.dtype is out.dtype


def is_in_place(buffer: Any) -> bool:
    """mpi4py takes None for MPI.IN_PLACE."""
    return buffer is None or isinstance(buffer, MPI.InPlaceType)


def is_on_gpu(spec: Any) -> bool:
    """Whether the array in an argument lies on a GPU, by DLPack or its address: CUDA's interface does not say it."""
    buffer = buffer_of(spec)
    if type(buffer) in _ON_HOST or isinstance(buffer, np.ndarray):
        return False
    if hasattr(buffer, "__dlpack_device__"):
        return buffer.__dlpack_device__()[0] in (CUDA, CUDA_MANAGED)
    if not hasattr(buffer, "__cuda_array_interface__"):
        return False
    try:
        import cupy
    except ImportError:
        return False
    return cupy.cuda.runtime.pointerGetAttributes(MPI.buffer.frombuffer(buffer, True).address).type in _DEVICE


def buffer_of(spec: Any) -> Any:
    """The array in an argument, which may be a list with its count and datatype."""
    return spec[0] if isinstance(spec, _SPECS) and spec else spec


def size_at_once(spec: Any, n_parts: int) -> int:
    """Bytes of the message in a list, where that is quick to see; else UNKNOWN.  n_parts: counts are of one of them"""
    if type(spec) in _SPECS:
        if len(spec) == 3 and type(spec[1]) is int and type(spec[2]) is MPI.Datatype:
            return spec[1] * n_parts * spec[2].size
        if len(spec) == 2 and type(spec[0]) is np.ndarray and type(spec[1]) is MPI.Datatype:
            return spec[0].nbytes if _handle_of(spec[1]) in _PREDEFINED else UNKNOWN
    return UNKNOWN


def size_of_parts_at_once(spec: Any, n_parts: int) -> int:
    """The same of a message of parts of any length."""
    if type(spec) in _SPECS and 2 <= len(spec) <= 4 and type(spec[1]) is list and len(spec[1]) == n_parts:
        if len(spec) > 2 and type(spec[-1]) is MPI.Datatype:
            return sum(spec[1]) * spec[-1].size
        if len(spec) == 2 and type(spec[0]) is np.ndarray:
            return sum(spec[1]) * spec[0].itemsize
    return UNKNOWN


def message_of(spec: Any, n_parts: int = 1) -> Message:
    """A message of ``n_parts`` equal parts, and a count is of one of them.  Raises NotRead."""
    if type(spec) is np.ndarray and spec.dtype in NUMPY_DTYPES and not spec.size % n_parts:
        return Message(spec, NUMPY_DTYPES[spec.dtype], spec.size)  # mostly so
    buffer, count, start, datatype = _unpacked(spec, _SPECS)
    element = _element_of(buffer, datatype)
    first = 0 if start is None else _number(start)
    if count is not None:
        return Message(buffer, element, _number(count) * n_parts, first)
    n_bytes = nbytes_of(buffer) - first * element.extent
    if n_bytes and element.extent <= 0:
        raise NotRead
    n, rest = divmod(n_bytes, element.extent) if n_bytes else (0, 0)
    if n < 0 or rest or n % n_parts:
        raise NotRead
    return Message(buffer, element, n, first)


def parts_of(spec: Any, n_parts: int) -> Parts:
    """A message of a part for each rank, of any length.  Raises NotRead."""
    buffer, counts, starts, datatype = _unpacked(spec, tuple)
    element = _element_of(buffer, datatype)
    if counts is None:
        n, more = divmod(message_of((buffer, datatype) if datatype else buffer).n_elems, n_parts)
        counts = [n + (part < more) for part in range(n_parts)]
    counts = numbers([counts] * n_parts if isinstance(counts, int | np.integer) else counts, n_parts)
    if starts is None:
        return Parts(buffer, element, counts, [0, *accumulate(counts[:-1])])
    if isinstance(starts, int | np.integer):
        starts = [starts * part for part in range(n_parts)]
    return Parts(buffer, element, counts, numbers(starts, n_parts))


def _unpacked(spec: Any, pair: Any) -> tuple[Any, Any, Any, Any]:
    """(buffer, counts, starts, datatype) of an argument.  pair: what may hold counts and starts"""
    if not isinstance(spec, _SPECS):
        return spec, None, None, None
    if len(spec) == 4:
        return spec[0], spec[1], spec[2], spec[3]
    if len(spec) == 2 and isinstance(spec[1], MPI.Datatype | str):
        return spec[0], None, None, spec[1]
    if not 2 <= len(spec) <= 3:
        raise NotRead
    datatype = spec[2] if len(spec) == 3 else None
    if not isinstance(spec[1], pair):
        return spec[0], spec[1], None, datatype
    if len(spec[1]) != 2:
        raise NotRead
    return spec[0], spec[1][0], spec[1][1], datatype


def _number(value: Any) -> int:
    if not hasattr(value, "__index__") or index(value) < 0:
        raise NotRead
    return index(value)


def numbers(values: Any, n: int) -> list[int]:
    """``n`` numbers that are not negative.  Raises NotRead."""
    if not hasattr(values, "__len__") or len(values) != n:
        raise NotRead
    return [_number(value) for value in values]


def nbytes_of(buffer: Any) -> int:
    """Bytes of a buffer; 0 of MPI.BOTTOM, which has no end.  Raises NotRead."""
    if isinstance(buffer, np.ndarray):
        return buffer.nbytes
    if is_bottom(buffer):
        return 0
    try:
        return MPI.buffer.frombuffer(buffer, True).nbytes
    except (TypeError, ValueError, BufferError):  # not an array
        raise NotRead from None


def is_bottom(buffer: Any) -> bool:
    """mpi4py takes None for MPI.BOTTOM."""
    return buffer is None or isinstance(buffer, MPI.BottomType)


def _element_of(buffer: Any, datatype: Any) -> Element:
    """Of the datatype in the argument, or else of the buffer.  Raises NotRead."""
    if isinstance(datatype, MPI.Datatype):
        return element_of(datatype)
    if datatype is not None:
        return element_of(_named(datatype))
    if isinstance(buffer, np.ndarray):
        return NUMPY_DTYPES.get(buffer.dtype) or element_of(_named(buffer.dtype.char))
    try:
        code = memoryview(buffer).format.lstrip("@<")  # mpi4py takes this machine's order alone
    except TypeError:  # of another library
        if not hasattr(buffer, "dtype"):
            raise NotRead from None
        return NUMPY_DTYPES[dtype_of(buffer.dtype).numpy]
    return element_of(_named(code))


def _named(code: Any) -> MPI.Datatype:
    """The datatype of a name.  Raises NotRead."""
    try:
        return MPI.Datatype.fromcode(code)
    except (KeyError, TypeError, ValueError):  # no such name
        raise NotRead from None


def element_of(datatype: MPI.Datatype) -> Element:
    """What MPI and mpi4py say of a datatype."""
    handle = _handle_of(datatype)
    if handle in _PREDEFINED:
        return _PREDEFINED[handle]
    if datatype == MPI.DATATYPE_NULL:
        raise NotRead
    size, extent, basic = datatype.size, datatype.extent, _basic(datatype)
    known = np.dtype(basic) if basic else None
    element = Element(size, extent, False, known if known in NUMPY_DTYPES else None, datatype)
    if datatype.is_predefined:
        element = _PREDEFINED[handle] = element._replace(is_dense=size == extent)
    return element


def _basic(datatype: MPI.Datatype) -> str:
    """NumPy's name of the one basic type that a datatype is made of, "" where there are several."""
    if datatype.is_predefined:
        return datatype.typestr
    inner = datatype.contents[-1]
    names = {_basic(one) for one in inner}
    for one in inner:
        if not one.is_predefined:
            one.Free()
    return names.pop() if len(names) == 1 else ""
