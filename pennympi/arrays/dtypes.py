"""The element types of the library."""

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from ..errors import Unsupported


@dataclass(frozen=True, eq=False)  # one object for each type: compared and hashed by identity
class DType:
    """An element type.

    kind:       "f" IEEE float, "b" bfloat16, "i" signed integer, "u" unsigned integer
    item_bytes: size of an element;  acc_bytes: size of a partial result, which is float32 for 16-bit floats
    numpy:      NumPy's dtype of it
    """

    name: str
    kind: str
    item_bytes: int
    acc_bytes: int
    numpy: np.dtype


def _row(name: str, kind: str, item_bytes: int, numpy: Any) -> DType:
    acc_bytes = 4 if kind in "fb" and item_bytes == 2 else item_bytes
    return DType(name, kind, item_bytes, acc_bytes, np.dtype(numpy))


TABLE = {
    row.name: row
    for row in (
        _row("float16", "f", 2, np.float16),
        _row("bfloat16", "b", 2, ml_dtypes.bfloat16),
        _row("float32", "f", 4, np.float32),
        _row("float64", "f", 8, np.float64),
        *(_row(f"int{8 * n}", "i", n, f"int{8 * n}") for n in (1, 2, 4, 8)),
        *(_row(f"uint{8 * n}", "u", n, f"uint{8 * n}") for n in (1, 2, 4, 8)),
    )
}

_BY_NUMPY = {row.numpy: row for row in TABLE.values()}


def scalar(value: Any, dtype: np.dtype) -> np.ndarray:
    """A number as an array of no dimensions.  Raises TypeError if it is none, ValueError if the dtype can't hold it."""
    given = np.asarray(value)
    if given.ndim or (given.dtype.kind in "cSUOMm" and not isinstance(value, int)):
        raise TypeError(f"value {value!r} is not a real number")
    number = np.empty((), dtype)
    try:
        number[()] = value
    except (OverflowError, ValueError) as error:
        raise ValueError(f"value {value!r} does not fit into {dtype}: {error}") from None
    return number


def dtype_of(spec: Any) -> DType:
    """The row of TABLE for a name, a dtype of NumPy, CuPy, ml_dtypes or PyTorch, or a scalar type.

    Raises Unsupported for an element type outside the table.
    """
    try:  # first, because every call asks twice for an array's dtype
        return _BY_NUMPY[spec]
    except (KeyError, TypeError):
        pass
    if isinstance(spec, DType):
        return spec
    row = TABLE.get(spec) if isinstance(spec, str) else None
    if row is None:
        try:
            row = None if spec is None else _BY_NUMPY.get(np.dtype(spec))  # NumPy takes None for float64
        except TypeError:
            row = TABLE.get(str(spec).removeprefix("torch."))
    if row is None:
        raise Unsupported(f"dtype {spec!r} is not one of {', '.join(TABLE)}; convert the array first")
    return row
