"""Named ranges in the time line of Nsight Systems."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any


def ranges(team: Any) -> Callable[[str], Any]:
    """A function from a name to a context manager: what runs inside appears under that name.

    On a GPU it is CuPy's, on a CPU that of the package ``nvtx``, where it is installed.
    """
    if team.backend == "cuda":
        from cupyx.profiler import time_range

        return time_range  # type: ignore[no-any-return]
    try:
        from nvtx import annotate
    except ImportError:
        return lambda name: nullcontext()
    return annotate  # type: ignore[no-any-return]
