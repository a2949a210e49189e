"""An array's address, count and dtype, and the checks of pairs of arrays."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .dtypes import DType

PLAIN = (str, int, type(None))  # types that a call's key may hold besides arrays; not bool, since True equals 1


@dataclass(slots=True)  # not frozen, which would take a microsecond of each call
class ArrayView:
    """Contiguous memory of one element type.

    address: address of the first element, in this process;  count: number of elements
    owner:   object that keeps the memory alive
    """

    address: int
    count: int
    dtype: DType
    owner: Any

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.count * self.dtype.item_bytes


def not_contiguous(what: str, copy: str, writable: bool) -> ValueError:
    """The error for an array with gaps.  copy: expression for a contiguous copy, which gets the result of a call"""
    if not writable:
        return ValueError(f"{what} is not contiguous: pass {copy}")
    return ValueError(
        f"{what} is not contiguous: pass y = {copy}, to which the call writes, and copy the result back by x[...] = y"
    )


def not_an_array(x: object, wanted: str) -> TypeError:
    """The error for an object that is not an array.  wanted: the arrays that this backend takes, as text"""
    if isinstance(x, bool | int | float | complex | np.generic):
        element = "for an element pass a view such as x[i:i+1]; " * isinstance(x, np.generic)
        remedy = f"{element}for numbers call team.comm.allreduce or team.comm.bcast"
        return TypeError(f"{type(x).__name__} is not an array: {remedy}")
    return TypeError(f"{type(x).__name__} is not {wanted}")


def not_in_place() -> TypeError:
    """The error for MPI.IN_PLACE as an argument that it can't replace."""
    return TypeError(
        "MPI.IN_PLACE is not an array: it stands for x of allreduce, reduce, all_to_all and all_gather, with an array "
        "as out; to write to x leave out away, or in reduce_scatter pass out=x[me * n : (me + 1) * n]"
    )


def check_alike(**named: ArrayView) -> None:
    """Raise ValueError unless two arrays have the same count and dtype.  The keywords name them in the message."""
    (name_a, a), (name_b, b) = named.items()
    if a.count != b.count or a.dtype is not b.dtype:
        raise ValueError(
            f"{name_a} has {a.count} elements of {a.dtype.name} and {name_b} has {b.count} of {b.dtype.name}: "
            "they must be alike"
        )


def overlap(a: ArrayView, b: ArrayView) -> bool:
    """Whether two array views share memory."""
    return a.address < b.address + b.nbytes and b.address < a.address + a.nbytes


def check_apart(remedy: str, **named: ArrayView) -> None:
    """Raise ValueError if two arrays of the same size overlap without being the same memory.  The keywords name them."""
    (name_a, a), (name_b, b) = named.items()
    if a.address != b.address and abs(a.address - b.address) < a.nbytes:
        raise ValueError(f"{name_a} and {name_b} overlap without being the same array: pass {remedy}, or a copy")


def check_pair(
    x: ArrayView, out: ArrayView, remedy: str = "out=None for in place", names: tuple[str, str] = ("x", "out")
) -> None:
    """``check_alike`` and ``check_apart`` for x and a result that may be x itself; fast if both checks pass."""
    if x.count != out.count or x.dtype is not out.dtype or abs(x.address - out.address) < x.nbytes:
        named = dict(zip(names, (x, out), strict=True))
        check_alike(**named)
        check_apart(remedy, **named)
