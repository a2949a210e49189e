"""The reductions: their names, and MPI's."""

from typing import Any

from mpi4py import MPI

NAMES = ("sum", "prod", "min", "max", "avg")
_BY_HANDLE = ((MPI.SUM, "sum"), (MPI.PROD, "prod"), (MPI.MIN, "min"), (MPI.MAX, "max"))


def operator_name(op: Any) -> str:
    """``"sum"`` for ``"sum"`` or ``MPI.SUM``, and so on.

    Raises ValueError for anything else.
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
