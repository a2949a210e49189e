"""The reductions: their names, MPI's operators, and the reductions of each dtype."""

from dataclasses import replace
from typing import Any

from mpi4py import MPI

from .dtypes import ALL, TABLE, DType

NAMES = ("sum", "prod", "min", "max", "avg")
MEAN = "mean"  # NumPy's name of "avg", but not for integers, whose mean would be truncated
_BY_HANDLE = {MPI.SUM.handle: "sum", MPI.PROD.handle: "prod", MPI.MIN.handle: "min", MPI.MAX.handle: "max"}
_OF_BOOLS = _BY_HANDLE | {MPI.LAND.handle: "min", MPI.LOR.handle: "max"}
# {dtype that is only moved: (dtype as which it is reduced, numbers in an element, its reductions)}
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
    """A reduction of elements of ``dtype``: (its name in NAMES, dtype of the numbers, numbers in an element).

    op: a name in NAMES, "mean", or an MPI operator
    Raises ValueError for any other ``op``, or if the dtype has no such reduction.
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
    """The name of an operator of MPI for elements of a dtype, even if the dtype has no such reduction; None: no name."""
    return (_OF_BOOLS if dtype.kind == "?" else _BY_HANDLE).get(op.handle)


def too_many_pes(op: str, dtype: DType, n_pes: int) -> str:
    """The reason why the average of these integers over so many PEs is impossible, as text; "" if it is possible.

    A sum has twice the bits of an element, which limits the number of PEs.
    """
    most = 1 << 8 * dtype.item_bytes
    if op != "avg" or dtype.kind not in "iu" or n_pes <= most:
        return ""
    return f"avg of {dtype.name} is for {most} PEs at most, and there are {n_pes}: convert the array to a wider type"
