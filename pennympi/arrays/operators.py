"""The reductions: their names, MPI's operators for them, and which of them each element type has."""

from typing import Any

from mpi4py import MPI

from .dtypes import ALL, TABLE, DType

NAMES = ("sum", "prod", "min", "max", "avg")
MEAN = "mean"  # "avg" by NumPy's name, but not of integers, whose mean would be cut
_BY_HANDLE = ((MPI.SUM, "sum"), (MPI.PROD, "prod"), (MPI.MIN, "min"), (MPI.MAX, "max"))
_OF_BOOLS = ((MPI.LAND, "min"), (MPI.LOR, "max"))
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
    if "avg" in _ops and _dtype.kind not in "iu":
        _dtype.reductions[MEAN] = _dtype.reductions["avg"]


def reduction(op: Any, dtype: DType) -> tuple[str, DType, int]:
    """A reduction of elements of ``dtype``: (its name in NAMES, the type of the numbers, numbers in an element).

    op: a name in NAMES, "mean", or an MPI operator
    Raises ValueError for any other ``op``, or where it has no meaning for the dtype.
    """
    try:
        return dtype.reductions[op]
    except (KeyError, TypeError):  # of an MPI operator, which has no hash
        name = next((name for handle, name in _BY_HANDLE if isinstance(op, MPI.Op) and op == handle), op)
    if isinstance(op, MPI.Op) and dtype.kind == "?":
        name = next((name for handle, name in _OF_BOOLS if op == handle), name)
    if isinstance(name, str) and name in (*NAMES, MEAN):
        if name in dtype.reductions:
            return dtype.reductions[name]
        raise ValueError(f"op {op!r} has no meaning for {dtype.name}: {_REMEDIES[dtype.kind]}")
    raise ValueError(
        f"op {op!r} is not a reduction of this library: use one of {', '.join((*NAMES, MEAN))} (or MPI.SUM and so on)"
    )
