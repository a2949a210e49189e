"""What the library needs to know of an array."""

from dataclasses import dataclass
from typing import Any

from .dtypes import DType


@dataclass(slots=True)  # not frozen: that would make the two of every call a microsecond slower
class Span:
    """Contiguous memory of one element type.

    address: of the first element, in this process;  count: elements
    """

    address: int
    count: int
    dtype: DType
    owner: Any

    @property
    def nbytes(self) -> int:
        """Bytes from the first element to the last."""
        return self.count * self.dtype.item_bytes


def check_alike(**named: Span) -> None:
    """Raise ValueError unless the two spans have the same count and dtype; the names are the user's."""
    (one, a), (other, b) = named.items()
    if a.count != b.count or a.dtype is not b.dtype:
        raise ValueError(
            f"{one} has {a.count} elements of {a.dtype.name} and {other} has {b.count} of {b.dtype.name}: "
            "they must be alike"
        )


def overlap(a: Span, b: Span) -> bool:
    """Whether two spans share memory."""
    return a.address < b.address + b.nbytes and b.address < a.address + a.nbytes


def check_apart(remedy: str, **named: Span) -> None:
    """Raise ValueError when two spans of the same length overlap without being the same memory."""
    (one, a), (other, b) = named.items()
    if a.address != b.address and abs(a.address - b.address) < a.nbytes:
        raise ValueError(f"{one} and {other} overlap without being the same array: pass {remedy}, or a copy")


def check_pair(x: Span, out: Span) -> None:
    """``check_alike`` and ``check_apart`` for a result that may also go in place; quick where all is well."""
    if x.count != out.count or x.dtype is not out.dtype or abs(x.address - out.address) < x.nbytes:
        check_alike(x=x, out=out)
        check_apart("out=None for in place", x=x, out=out)
