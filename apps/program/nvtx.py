"""Named ranges in the time line of Nsight Systems."""

from contextlib import nullcontext
from typing import Any


def named_range(team: Any, name: str) -> Any:
    """A context manager: the work inside it appears under that name.

    On a GPU it is CuPy's, on a CPU that of the package ``nvtx``, where it is installed.
    """
    if team.backend == "cuda":
        from cupyx.profiler import time_range

        return time_range(name)
    try:
        from nvtx import annotate
    except ImportError:
        return nullcontext()
    return annotate(name)
