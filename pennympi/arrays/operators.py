"""The reductions: their names, MPI's operators for them, and which of them each element type has."""

from dataclasses import replace
from typing import Any

from mpi4py import MPI

from .dtypes import ALL, TABLE, DType

NAMES = ("sum", "prod", "min", "max", "avg")
MEAN = "mean"  # "avg" by NumPy's name, but not of integers, whose mean would be cut
_BY_HANDLE = {MPI.SUM.handle: "sum", MPI.PROD.handle: "prod", MPI.MIN.handle: "min", MPI.MAX.handle: "max"}
_OF_BOOLS = _BY_HANDLE | {MPI.LAND.handle: "min", MPI.LOR.handle: "max"}
# How the types that are only moved are reduced: as (this type, so many numbers in an element, by these ops alone).
_AS_NUMBERS = {
    "complex64": ("float32", 2, ("sum", "avg")),
    "complex128": ("float64", 2, ("sum", "avg")),
    "bool": ("uint8", 1, ("min", "max")),
}
_INTEGERS = "use avg, which truncates toward zero, or convert to floats"
_REMEDIES = {
    "i": _INTEGERS,
    "u": _INTEGERS,
    "c": "use sum or mean",
    "?": "use min (logical and) or max (logical or), or convert to numbers",
}


for _dtype in ALL.values():
    _name, _numbers, _ops = _AS_NUMBERS.get(_dtype.name, (_dtype.name, 1, NAMES))
    _dtype.reductions.update({op: (op, TABLE[_name], _numbers) for op in _ops})
    if _dtype.kind in "iu":
        _dtype.reductions["avg"] = ("avg", replace(_dtype, acc_bytes=2 * _dtype.item_bytes, reductions={}), 1)
    elif "avg" in _ops:
        _dtype.reductions[MEAN] = _dtype.reductions["avg"]


def reduction(op: Any, dtype: DType) -> tuple[str, DType, int]:
    """A reduction of elements of ``dtype``: (its name in NAMES, the type of the numbers, numbers in an element).

    op: a name in NAMES, "mean", or an MPI operator
    Raises ValueError for any other ``op``, or where it has no meaning for the dtype.
    """
    name = name_of(op, dtype) if isinstance(op, MPI.Op) else op if isinstance(op, str) else None
    if name in dtype.reductions:
        return dtype.reductions[name]
    if name in (*NAMES, MEAN):
        raise ValueError(f"op {op!r} has no meaning for {dtype.name}: {_REMEDIES[dtype.kind]}")
    raise ValueError(
        f"op {op!r} is not a reduction of this library: use one of {', '.join((*NAMES, MEAN))} (or MPI.SUM and so on)"
    )


def name_of(op: MPI.Op, dtype: DType) -> str | None:
    """The name of MPI's operator, which need not be among the reductions of ``dtype``; None if it has none."""
    return (_OF_BOOLS if dtype.kind == "?" else _BY_HANDLE).get(op.handle)


def too_many_pes(op: str, dtype: DType, n_pes: int) -> str:
    """Why so many PEs have no average of these integers, in a sentence, or "" if they have: their sum has a limit."""
    most = 1 << 8 * dtype.item_bytes
    if op != "avg" or dtype.kind not in "iu" or n_pes <= most:
        return ""
    return f"avg of {dtype.name} is for {most} PEs at most, and there are {n_pes}: convert the array to a wider type"
