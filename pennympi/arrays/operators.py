"""The names of the reductions, and MPI's operators for them."""

from typing import Any

from mpi4py import MPI

NAMES = ("sum", "prod", "min", "max", "avg")
_BY_HANDLE = ((MPI.SUM, "sum"), (MPI.PROD, "prod"), (MPI.MIN, "min"), (MPI.MAX, "max"))


def operator_name(op: Any) -> str:
    """The name in NAMES of a reduction that is given by name or as an MPI operator: "sum" for MPI.SUM.

    Raises ValueError for any other ``op``.
    """
    if isinstance(op, str):
        if op in NAMES:
            return op
    elif isinstance(op, MPI.Op):
        for handle, name in _BY_HANDLE:
            if op == handle:
                return name
    raise ValueError(
        f"op {op!r} is not a reduction of this library: use one of {', '.join(NAMES)} (or MPI.SUM and so on)"
    )
