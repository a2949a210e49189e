"""Work that PE 0 does alone, while the other PEs wait without using its cores and without a deadline."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")
POLL_S = 0.005


def run_on_pe0(comm: Any, work: Callable[[], Result]) -> Result | None:
    """Run ``work`` on PE 0 while the other PEs sleep.  Returns its result on PE 0, else None.  Collective."""
    result = work() if comm.rank == 0 else None
    arrived = comm.Ibarrier()
    while not arrived.Test():  # Wait would spin on a core that PE 0 may need
        time.sleep(POLL_S)
    return result
