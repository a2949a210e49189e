"""Whether a solve fits into memory, computed before anything is allocated."""

import os
from argparse import Namespace
from pathlib import Path
from typing import Any

from mpi4py import MPI

from ...program.host_memory import host_free_bytes
from ..grid.problem import Problem
from ..grid.slab import max_rows, slabs
from ..report.report import size_text
from ..variants import row_of
from ..variants.memory import field_bytes, heap_bytes
from ..verify.checks import TABLE

GPU_DRIVER = Path("/dev/nvidiactl")
COLUMN_BYTES = 40  # of a boundary value, as a Python number and in an array


def shortage(comm: Any, options: Namespace, problem: Problem) -> str:
    """Why the memory of some node is too small for the run, or "", the same on every PE.  Collective.

    On GPUs the library checks the fields, and this only what lies in the memory of the host.
    """
    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    ranks = node.allgather(comm.rank)
    node.Free()
    parts = {f"{len(ranks)} PEs": len(ranks) * _of_each_bytes(options, problem, comm.size)}
    if options.verify and 0 in ranks:
        parts[f"--verify {options.verify}"] = TABLE[options.verify]().host_bytes(problem)
    need, free = sum(parts.values()), host_free_bytes()
    said = ""
    if need > free:
        takes = " and ".join(f"{name} take {size_text(size)}" for name, size in parts.items() if size)
        said = f"the memory of PE {ranks[0]}'s node is too small: {takes}, and {size_text(free)} are free there"
        said += ": use a smaller --nx or --ny, or more nodes" + (", or leave --verify out" if options.verify else "")
    return next((one for one in comm.allgather(said) if one), "")


def _of_each_bytes(options: Namespace, problem: Problem, n_pes: int) -> int:
    """Memory of the host that a PE takes."""
    slab_bytes = max_rows(slabs(problem.ny, n_pes)) * problem.row_bytes
    starts = problem.ny * COLUMN_BYTES + (slab_bytes if options.saved else 0)
    starts += 3 * slab_bytes if options.verify == "eigenmode" else 0  # its start, in float64, too
    if not on_host(options.backend):
        return starts
    row = row_of(problem, options.variant)
    fields = heap_bytes(problem, n_pes, options.variant) or field_bytes(problem, n_pes, options.variant)
    return fields + row.private_bytes(problem, n_pes) + starts


def on_host(backend: str) -> bool:
    """Whether the fields will lie in the host's memory, as far as can be told before the library starts."""
    if backend == "auto":
        return os.environ.get("PENNYMPI_BACKEND") == "host" or not GPU_DRIVER.exists()
    return backend == "host"
