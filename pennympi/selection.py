"""Which AllReduce algorithm runs when none is named."""

from .errors import Unsupported
from .kernels.algorithm import Algorithm
from .kernels.allreduce import TABLE
from .settings import setting

SIMPLE_RING_MAX_BYTES = 8192  # up to here the whole vector is cheaper to send than its chunks


def choose(name: str, n_pes: int, nbytes: int, dtype: str, op: str, backend: str) -> Algorithm:
    """The row to run.  ``name``: an algorithm's, or "auto".

    Raises ValueError for an unknown name, Unsupported when it can't run here.
    """
    if name == "auto":
        name = setting("PENNYMPI_ALLREDUCE")
    if name == "auto":
        name = "simple_ring" if nbytes <= SIMPLE_RING_MAX_BYTES else "ring"
    row = TABLE.get(name)
    if row is None:
        raise ValueError(f"algorithm {name!r} is unknown: use auto, {', '.join(TABLE)}")
    reason = row.refuse(n_pes, dtype, op, backend)
    if reason:
        raise Unsupported(f"{name} can't run here: {reason}; use algorithm='auto'")
    return row
