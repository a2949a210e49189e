"""AllReduce and Broadcast of a Python number or a NumPy scalar: by the host at once, as mpi4py's lowercase methods do."""

from functools import reduce
from operator import add, mul
from typing import Any

import numpy as np

from ..arrays.dtypes import dtype_of
from ..arrays.operators import reduction
from ..job.job import Job
from .base import check_root

NUMBERS = (bool, int, float, complex, np.number, np.bool_)


def allreduce(job: Job, x: Any, op: Any, arrays: tuple[Any, ...]) -> Any:
    """op over the numbers of all PEs, in their order, of the type of x.  Collective.

    Python's ints have no limit; 16-bit floats are added in float64 and rounded once.
    arrays: out and residual, which must be None
    Raises TypeError (arrays; types that differ), ValueError (op), OverflowError (a NumPy type that is too small).
    """
    if any(array is not None for array in arrays):
        raise TypeError(
            f"x is a number, a {type(x).__name__}: out and residual are for arrays, and the result is returned"
        )
    name = reduction(op, dtype_of(type(x)))[0]
    values = _gathered(job, x, f"allreduce of a number, {name}")
    result = _reduced([one.item() if isinstance(one, np.generic) else one for one in values], name)
    return type(x)(result) if isinstance(x, np.generic) else result


def _reduced(values: list[Any], op: str) -> Any:
    if op in ("min", "max"):
        least_or_greatest = min if op == "min" else max
        return next((one for one in values if one != one), least_or_greatest(values))  # a NaN is the result, as of arrays
    if op == "prod":
        return reduce(mul, values)
    total = reduce(add, values)
    if op == "sum":
        return total
    if isinstance(total, int):
        return abs(total) // len(values) * (1 if total >= 0 else -1)  # toward zero, as of arrays
    return total / len(values)


def broadcast(job: Job, x: Any, root: Any) -> Any:
    """The number of PE root.  Collective.  Raises TypeError (types that differ, root), ValueError (root)."""
    root = check_root(root, job.n_pes)
    return _gathered(job, x, f"broadcast of a number, root {root}")[root]


def _gathered(job: Job, x: Any, what: str) -> list[Any]:
    values = job.gather(x, what)
    other = next((pe for pe, value in enumerate(values) if type(value) is not type(values[0])), None)
    if other is not None:
        names = f"{type(values[0]).__name__} on PE 0 and {type(values[other]).__name__} on PE {other}"
        raise TypeError(f"{what}: x is of type {names}: give the same type on every PE")
    return values
