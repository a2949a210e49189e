"""Work that one PE does alone while the others wait without taking its cores or a deadline."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")
POLL_S = 0.005


def run_on_pe0(comm: Any, work: Callable[[], Result]) -> Result | None:
    """PE 0 runs ``work``; the others sleep until it is done.  PE 0 gets the result, others None."""
    result = work() if comm.rank == 0 else None
    arrived = comm.Ibarrier()
    while not arrived.Test():  # a Wait would spin on a core that PE 0 may need
        time.sleep(POLL_S)
    return result
