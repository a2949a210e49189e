"""The end of a forked child: without MPI_Finalize, which would speak to the launcher in the name of the parent."""

import atexit
import os
import sys

from . import exits


def leave_mpi_to_the_parent() -> None:
    """Let this process, a forked child, end without MPI.  What it has registered to run at its end runs before."""
    atexit.register(_end)


def _end() -> None:
    uncaught = hasattr(sys, "last_type")  # set before the exception is printed
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass  # closed
    os._exit((exits._status & 255) or int(uncaught))
