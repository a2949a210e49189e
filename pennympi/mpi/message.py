"""The buffer arguments of mpi4py, read as mpi4py reads them: memory, elements, and the bytes of the message."""

from __future__ import annotations

import sys
from contextlib import suppress
from itertools import accumulate
from mmap import mmap
from operator import index
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

from ..arrays import dlpack
from ..arrays.dlpack import CPU, CUDA, CUDA_HOST, CUDA_MANAGED
from ..arrays.dtypes import ALL, dtype_of
from ..errors import Unsupported

SPECS = (list, tuple)  # isinstance is quicker with a tuple than with a union
ON_HOST = frozenset({np.ndarray, bytearray, bytes, memoryview, mmap, MPI.InPlaceType, MPI.BottomType, type(None)})
_handle_of = MPI._handleof
_DEVICE = (2, 3)  # cudaMemoryTypeDevice, cudaMemoryTypeManaged
_DEVICES = (CPU, CUDA, CUDA_HOST, CUDA_MANAGED)


class LeftToMPI(Exception):
    """MPI takes this call: a team has no such reduction, MPI is faster, or mpi4py has an error to raise."""


class Element(NamedTuple):
    """The element that a message repeats.

    size, extent: numbers of bytes;  is_dense: True if elements follow one another without a gap, in order
    dtype:    NumPy's dtype of the numbers in it; None if they are not of one type that a team knows
    datatype: MPI's datatype; None where NumPy's dtype was enough
    """

    size: int
    extent: int
    is_dense: bool
    dtype: np.dtype | None
    datatype: Any = None


class Message(NamedTuple):
    """``n_elems`` elements from element ``start`` of a buffer on.

    parts: (count, start) of each rank's part; None if all parts have one length.  n_elems and start span all parts
    """

    buffer: Any
    element: Element
    n_elems: int
    start: int = 0
    parts: tuple[tuple[int, int], ...] | None = None

    @property
    def n_bytes(self) -> int:
        """The number of bytes that are moved."""
        n_elems = self.n_elems if self.parts is None else sum(count for count, _ in self.parts)
        return n_elems * self.element.size

    @property
    def part_bytes(self) -> list[int]:
        """The length of each part, in bytes."""
        return [count * self.element.size for count, _ in self.parts or ()]

    @property
    def part_starts(self) -> list[int]:
        """The start of each part in the span, in bytes."""
        return [(start - self.start) * self.element.size if count else 0 for count, start in self.parts or ()]


ELEMENTS = {dtype.numpy: Element(dtype.item_bytes, dtype.item_bytes, True, dtype.numpy) for dtype in ALL.values()}
_PREDEFINED: dict[int, Element] = {}  # {handle of a datatype: element}
SIZES: dict[int, int] = {}  # {id of mpi4py's own object of a datatype without gaps: its size}


def fill_sizes() -> None:
    """Fill SIZES, which MPI gives only once it is initialized."""
    if not SIZES and MPI.Is_initialized():
        for datatype in vars(MPI).values():
            if type(datatype) is MPI.Datatype and datatype:
                with suppress(MPI.Exception):  # an Open MPI built without Fortran names types that it has not
                    if 0 < datatype.size == datatype.extent:
                        SIZES[id(datatype)] = datatype.size


def is_in_place(buffer: Any) -> bool:
    """True for MPI.IN_PLACE, and for None, which means the same to mpi4py."""
    return buffer is None or isinstance(buffer, MPI.InPlaceType)


def is_bottom(buffer: Any) -> bool:
    """True for MPI.BOTTOM, and for None, which means the same to mpi4py."""
    return buffer is None or isinstance(buffer, MPI.BottomType)


def is_on_gpu(spec: Any) -> bool:
    """Whether the array in an argument lies on a GPU: by DLPack, or by its address if it has only CUDA's interface."""
    buffer = buffer_of(spec)
    if type(buffer) in ON_HOST or isinstance(buffer, np.ndarray):
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
    return spec[0] if isinstance(spec, SPECS) and spec else spec


def bytes_of(spec: Any, n_parts: int = 1) -> int:
    """The size of the message of ``message_of``, by a shorter way for the usual forms.  Raises LeftToMPI."""
    if type(spec) is np.ndarray:
        return spec.nbytes
    if type(spec) in SPECS:
        if len(spec) == 2:
            if id(spec[1]) in SIZES and type(spec[0]) is np.ndarray:
                return spec[0].nbytes
        elif len(spec) == 3 and type(spec[1]) is int and (size := SIZES.get(id(spec[2]))):
            return spec[1] * size * n_parts
    return message_of(spec, n_parts).n_bytes


def bytes_of_parts(spec: Any, n_parts: int) -> int:
    """The size of the message of ``parts_of``, by a shorter way for the usual forms.  Raises LeftToMPI."""
    if type(spec) in SPECS and 2 <= len(spec) <= 4 and type(spec[1]) is list and len(spec[1]) == n_parts:
        if type(spec[-1]) is MPI.Datatype:
            return int(sum(spec[1]) * spec[-1].size)
        if len(spec) == 2 and type(spec[0]) is np.ndarray:
            return sum(spec[1]) * spec[0].itemsize
    return parts_of(spec, n_parts).n_bytes


def plain_array(spec: Any) -> Any:
    """The NumPy array of an argument whose count and datatype are those of the array; else the argument."""
    if type(spec) not in SPECS or not 2 <= len(spec) <= 3 or type(spec[0]) is not np.ndarray:
        return spec
    if type(spec[-1]) is not MPI.Datatype or len(spec) == 3 and (type(spec[1]) is not int or spec[1] != spec[0].size):
        return spec
    element = _PREDEFINED.get(_handle_of(spec[-1]))
    return spec[0] if element is not None and element.dtype is spec[0].dtype else spec


def message_of(spec: Any, n_parts: int = 1) -> Message:
    """A message of ``n_parts`` equal parts; a count in the argument is that of one part.  Raises LeftToMPI."""
    if type(spec) is np.ndarray and spec.dtype in ELEMENTS and not spec.size % n_parts:
        return Message(spec, ELEMENTS[spec.dtype], spec.size)  # the usual case
    cupy = sys.modules.get("cupy")
    if cupy and type(spec) is cupy.ndarray and spec.dtype in ELEMENTS and spec.flags.c_contiguous and n_parts == 1:
        return Message(spec, ELEMENTS[spec.dtype], spec.size)
    buffer, count, start, datatype = _unpacked(spec, SPECS)
    element = _element_of(buffer, datatype)
    first = 0 if start is None else _number(start)
    if count is not None:
        return Message(buffer, element, _number(count) * n_parts, first)
    n_bytes = _bytes_of(buffer) - first * element.extent
    if n_bytes and element.extent <= 0:
        raise LeftToMPI
    n, rest = divmod(n_bytes, element.extent) if n_bytes else (0, 0)
    if n < 0 or rest or n % n_parts:
        raise LeftToMPI
    return Message(buffer, element, n, first)


def parts_of(spec: Any, n_parts: int) -> Message:
    """A message of a part for each rank, of any length.  Raises LeftToMPI."""
    buffer, counts, starts, datatype = _unpacked(spec, tuple)
    element = _element_of(buffer, datatype)
    if counts is None:
        n, rest = divmod(message_of((buffer, datatype) if datatype else buffer).n_elems, n_parts)
        counts = [n + (part < rest) for part in range(n_parts)]
    counts = numbers([counts] * n_parts if isinstance(counts, int | np.integer) else counts, n_parts)
    if starts is None:
        starts = [0, *accumulate(counts[:-1])]
    elif isinstance(starts, int | np.integer):
        starts = [starts * part for part in range(n_parts)]
    parts = tuple(zip(counts, numbers(starts, n_parts), strict=True))
    first = min((start for count, start in parts if count), default=0)
    end = max((start + count for count, start in parts if count), default=0)
    return Message(buffer, element, end - first, first, parts)


def _unpacked(spec: Any, pair: Any) -> tuple[Any, Any, Any, Any]:
    """(buffer, counts, starts, datatype) of an argument.  pair: types of an object that holds counts and starts"""
    if not isinstance(spec, SPECS):
        return spec, None, None, None
    if len(spec) == 4:
        return spec[0], spec[1], spec[2], spec[3]
    if len(spec) == 2 and isinstance(spec[1], MPI.Datatype | str):
        return spec[0], None, None, spec[1]
    if not 2 <= len(spec) <= 3:
        raise LeftToMPI
    datatype = spec[2] if len(spec) == 3 else None
    if not isinstance(spec[1], pair):
        return spec[0], spec[1], None, datatype
    if len(spec[1]) != 2:
        raise LeftToMPI
    return spec[0], spec[1][0], spec[1][1], datatype


def _number(value: Any) -> int:
    if type(value) is not int and not hasattr(value, "__index__") or index(value) < 0:
        raise LeftToMPI
    return index(value)


def numbers(values: Any, n: int) -> list[int]:
    """``n`` numbers that are not negative.  Raises LeftToMPI."""
    if not hasattr(values, "__len__") or len(values) != n:
        raise LeftToMPI
    return [_number(value) for value in values]


def _bytes_of(buffer: Any) -> int:
    """The bytes of a buffer; 0 for MPI.BOTTOM, which has no end.  Raises LeftToMPI."""
    if isinstance(buffer, np.ndarray):
        return buffer.nbytes
    if is_bottom(buffer):
        return 0
    try:
        return MPI.buffer.frombuffer(buffer, True).nbytes
    except (TypeError, ValueError, BufferError):  # not an array
        raise LeftToMPI from None


def _element_of(buffer: Any, datatype: Any) -> Element:
    """The element by the datatype of the argument, or else by the buffer.  Raises LeftToMPI."""
    if isinstance(datatype, MPI.Datatype):
        return _PREDEFINED.get(_handle_of(datatype)) or _element_of_datatype(datatype)
    if datatype is not None:
        return _element_of_datatype(_named(datatype))
    if isinstance(buffer, np.ndarray):
        return ELEMENTS.get(buffer.dtype) or _element_of_datatype(_named(buffer.dtype.char))
    try:
        code = memoryview(buffer).format.lstrip("@<")  # mpi4py takes this machine's byte order alone
    except TypeError:  # an array of another library
        if hasattr(buffer, "dtype"):
            return ELEMENTS[dtype_of(buffer.dtype).numpy]
        if not hasattr(buffer, "__dlpack__"):
            raise LeftToMPI from None
        try:
            return ELEMENTS[dlpack.read(buffer, False, _DEVICES)[2].numpy]
        except (Unsupported, ValueError):
            raise LeftToMPI from None
    return _element_of_datatype(_named(code))


def _named(code: Any) -> MPI.Datatype:
    """The datatype of a name.  Raises LeftToMPI."""
    try:
        return MPI.Datatype.fromcode(code)
    except (KeyError, TypeError, ValueError):  # no such name
        raise LeftToMPI from None


def _element_of_datatype(datatype: MPI.Datatype) -> Element:
    """The element of a datatype.  Raises LeftToMPI."""
    if datatype == MPI.DATATYPE_NULL:
        raise LeftToMPI
    size, extent, basic = datatype.size, datatype.extent, _basic(datatype)
    known = np.dtype(basic) if basic else None  # the same object as that of NumPy's arrays
    element = Element(size, extent, False, known if known in ELEMENTS else None, datatype)
    if datatype.is_predefined:
        element = _PREDEFINED[_handle_of(datatype)] = element._replace(is_dense=size == extent)
    return element


def _basic(datatype: MPI.Datatype) -> str:
    """NumPy's name of the one basic type that a datatype is made of, "" where there are several."""
    if datatype.is_predefined:
        return datatype.typestr
    parts = datatype.contents[-1]
    names = {_basic(part) for part in parts}
    for part in parts:
        if not part.is_predefined:
            part.Free()
    return names.pop() if len(names) == 1 else ""
