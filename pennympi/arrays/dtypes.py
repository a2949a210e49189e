"""The element types of the library."""

import operator
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from ..errors import Unsupported


@dataclass(frozen=True, eq=False)  # each type has one object, which is compared and hashed by identity
class DType:
    """An element type.

    kind:       "f" IEEE float, "b" bfloat16, "i" signed integer, "u" unsigned integer; "c" complex, "?" bool
    item_bytes: size of an element
    acc_bytes:  size of a partial: 4 for 16-bit floats, twice ``item_bytes`` for the average of integers, so that no sum
                overflows, else ``item_bytes``
    numpy:      NumPy's dtype
    reductions: {name of a reduction: how elements are reduced} (operators.py)
    """

    name: str
    kind: str
    item_bytes: int
    acc_bytes: int
    numpy: np.dtype
    reductions: dict[str, tuple[str, "DType", int]] = field(default_factory=dict, repr=False)


def _dtype(name: str, kind: str, item_bytes: int, numpy: Any) -> DType:
    acc_bytes = 4 if kind in "fb" and item_bytes == 2 else item_bytes
    return DType(name, kind, item_bytes, acc_bytes, np.dtype(numpy))


def _by_name(*dtypes: DType) -> dict[str, DType]:
    return {dtype.name: dtype for dtype in dtypes}


DEFAULT = "float64"  # default dtype of arrays and kernels, as in NumPy and CuPy
TABLE = _by_name(
    _dtype("float16", "f", 2, np.float16),
    _dtype("bfloat16", "b", 2, ml_dtypes.bfloat16),
    _dtype("float32", "f", 4, np.float32),
    _dtype("float64", "f", 8, np.float64),
    *(_dtype(f"int{8 * n}", "i", n, f"int{8 * n}") for n in (1, 2, 4, 8)),
    *(_dtype(f"uint{8 * n}", "u", n, f"uint{8 * n}") for n in (1, 2, 4, 8)),
)


# These dtypes are moved as bytes, and reduced as numbers of another dtype, if at all (operators.py).
MOVED = _by_name(
    _dtype("complex64", "c", 8, np.complex64),
    _dtype("complex128", "c", 16, np.complex128),
    _dtype("bool", "?", 1, np.bool_),
)
ALL = TABLE | MOVED

_BY_NUMPY = {dtype.numpy: dtype for dtype in ALL.values()}


def scalar(value: Any, dtype: np.dtype) -> np.ndarray:
    """A number as an array of no dimensions.  Raises TypeError if it is not a number, ValueError if the dtype can't hold
    it."""
    array = np.asarray(value)
    if array.ndim or (array.dtype.kind in "SUOMm" and not isinstance(value, int)):
        raise TypeError(f"value {value!r} is not a number")
    if array.dtype.kind == "c" and dtype.kind != "c":
        raise TypeError(f"value {value!r} is not a real number")
    number = np.empty((), dtype)
    try:
        number[()] = value
    except (OverflowError, ValueError) as error:
        raise ValueError(f"value {value!r} does not fit into {dtype}: {error}") from None
    return number


def is_int(value: Any) -> bool:
    """Whether a value is an int of Python or NumPy, and not a bool."""
    if type(value) is int:  # the most frequent case, and fast
        return True
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def positive(name: str, value: Any) -> int:
    """``value`` as an int.  Raises TypeError if it is not an int, ValueError if it is below 1."""
    if not is_int(value):
        raise TypeError(f"{name} must be an int, got {value!r}")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}")
    return int(value)


def ints(name: str, value: Any, n: int = 1) -> tuple[int, ...]:
    """A sequence of ints as a tuple; a single int as a tuple of ``n`` equal ints.  Raises TypeError."""
    try:
        return tuple(map(operator.index, value)) if hasattr(value, "__iter__") else (operator.index(value),) * n
    except TypeError:
        raise TypeError(f"{name} {value!r} is not an int or a sequence of ints") from None


def dtype_of_value(value: Any) -> DType:
    """NumPy's dtype of a number; float64 for a value that ``scalar`` refuses later, on every PE."""
    try:
        return _BY_NUMPY.get(np.asarray(value).dtype, TABLE[DEFAULT])
    except (TypeError, ValueError):
        return TABLE[DEFAULT]


def dtype_of(spec: Any) -> DType:
    """The ``DType`` of a name, a dtype of NumPy, CuPy, ml_dtypes or PyTorch, or a scalar type.

    Raises Unsupported for an element type outside the table.
    """
    try:  # this comes first because every call asks twice for an array's dtype
        return _BY_NUMPY[spec]
    except (KeyError, TypeError):
        pass
    if isinstance(spec, DType):
        return spec
    dtype = ALL.get(spec) if isinstance(spec, str) else None
    if dtype is None:
        try:
            dtype = None if spec is None else _BY_NUMPY.get(np.dtype(spec))  # NumPy takes None as float64
        except TypeError:
            dtype = ALL.get(str(spec).removeprefix("torch."))
    if dtype is None:
        raise Unsupported(f"dtype {spec!r} is not one of {', '.join(ALL)}; convert the array first")
    return dtype
