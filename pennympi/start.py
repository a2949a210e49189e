"""init: make a team from a communicator."""

import importlib
import importlib.util
import os
from collections.abc import Sequence
from typing import Any

from mpi4py import MPI

from . import init_arguments
from .annotations import BackendName
from .backend import Backend
from .compile.cache import report_from_here
from .errors import PeerTimeout, SymmetricHeapExhausted, Unsupported
from .job import ending, exits
from .job.job import Job
from .job.on_all import on_all
from .notice import say
from .state import state
from .team import Team
from .wall_time import timed

_CUDA_MODULES = ("cupy", "nvshmem", "numba.cuda", "cuda.bindings")


def init(
    comm: MPI.Intracomm | None = None,
    backend: BackendName = "auto",
    heap_bytes: int | None = None,
    topology: Any = None,
    sms: int | None = None,
) -> Team:
    """Make a team of the PEs of an mpi4py communicator.  Collective over ``comm``; use the team with ``with``.

    comm:       an intra-communicator, MPI.COMM_WORLD by default.  On GPUs, all its PEs must be in the first team that
                the process made
    backend:    "host", "cuda", or "auto": what PENNYMPI_BACKEND says, else cuda if every PE can use it.  A PE uses the
                current GPU; if GPU 0 is current on all PEs of a node, that of its number on the node
    heap_bytes: size of the symmetric heap of one PE; None is PENNYMPI_SYMMETRIC_SIZE.  On GPUs all teams share the heap
                of the first team, and a team of all its PEs makes it larger when it is full
    topology:   the nodes that algorithms see: a name such as "two-nodes-of-eight", a TOML file, or "auto", which asks
                the system and the hardware; None is PENNYMPI_TOPOLOGY
    sms:        number of multiprocessors that a call without ``sms=`` may use, the same on every PE; None is all

    Raises TypeError, ValueError (also where the arguments, settings or files of two PEs differ, or one is wrong),
    Unsupported (these PEs cannot use the backend), SymmetricHeapExhausted, PeerTimeout.  Every PE raises the same.
    """
    if state.simulation is not None:
        team: Team = state.simulation.init(comm)
        return team
    if not MPI.Is_initialized() or MPI.Is_finalized():
        raise Unsupported(
            "pennympi needs MPI.COMM_WORLD, which MPI has between MPI_Init and MPI_Finalize; a session alone does not "
            "do: call MPI.Init_thread() before init, and MPI.Finalize() after the last team"
        )
    comm = MPI.COMM_WORLD if comm is None else comm
    if not isinstance(comm, MPI.Intracomm) or comm == MPI.COMM_NULL:
        raise TypeError(f"comm {comm!r} is not an mpi4py intra-communicator: pass MPI.COMM_WORLD or a part of it")
    mine = init_arguments.read(comm.size, backend, heap_bytes, topology, sms)
    reason = "" if mine.error or mine.backend == "host" else why_no_cuda()
    ending.prepare(comm)
    exits.install()
    job = Job(comm, mine.timeout_s)
    report_from_here(job.control.local == 0)
    gathered = job.gather((mine, reason), "comparison of settings and arguments")
    try:
        init_arguments.agree([one for one, _ in gathered])
        name = _choose(mine.backend, [reason for _, reason in gathered])
        make = lambda: _make_backend(name, job, mine.heap_bytes)  # noqa: E731
        made = on_all(job, f"start of the {name} backend", make, error_type=Unsupported)
    except PeerTimeout:
        raise
    except Exception:
        job.close()
        raise
    try:
        team = Team(job, made, mine.layout, mine.sms)
    except (SymmetricHeapExhausted, Unsupported):  # on every PE: all allocate alike
        made.close()
        job.close()
        raise
    if made.shared and not state.told_of_sharing:
        state.told_of_sharing = True
        if team.me == 0:
            say(f"pennympi: {made.shared}: times mean nothing")
    return team


def _choose(wanted: str, reasons: Sequence[str]) -> str:
    """The backend of all PEs.  reasons: why each PE can't use cuda, or "".  Raises Unsupported."""
    if wanted == "auto":
        return "host" if any(reasons) else "cuda"
    if wanted == "cuda" and any(reasons):
        pe, reason = next((pe, why) for pe, why in enumerate(reasons) if why)
        raise Unsupported(f"the cuda backend can't run on PE {pe}: {reason}; use backend='host' where there is no GPU")
    return wanted


def _make_backend(name: str, job: Job, heap_bytes: int | None) -> Backend:
    with timed(f"import of the compiler and the {name} backend"):
        module = importlib.import_module(f".{name}.backend", __package__)
    made: Backend = module.make_backend(job, heap_bytes)
    return made


def why_no_cuda() -> str:
    """Why this process cannot use the cuda backend, or "" if it can."""
    for module in _CUDA_MODULES:
        try:
            found = importlib.util.find_spec(module)
        except ModuleNotFoundError:
            found = None
        if found is None:
            return f"the module {module} is missing (in the clone: pip install '.[cuda12]' or '.[cuda13]')"
    try:
        with timed("import of CuPy"):
            import cupy

        if cupy.cuda.runtime.getDeviceCount() == 0:
            return "no CUDA device is visible"
    except Exception as error:  # of many types, when the driver is missing or too old
        return f"CUDA does not start: {error}"
    return ""


def _end_in_child() -> None:
    """In a forked child: it has no place in the job, and must not write into the memory that the PEs share."""
    for team in list(state.teams):
        team._end("this process was forked from a PE of the team, and only the PE itself can use it")


os.register_at_fork(after_in_child=_end_in_child)
