"""init: makes a team from a communicator."""

import importlib
import importlib.util
import os
from collections.abc import Sequence
from typing import Any

from mpi4py import MPI

from . import init_arguments
from .annotations import BackendName
from .backend import Backend
from .compile.cache import enable_reports
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

    comm:       an intra-communicator, MPI.COMM_WORLD by default.  On GPUs all its PEs must be in the first team that the
                process made
    backend:    "host", "cuda", or "auto": the value of PENNYMPI_BACKEND, else cuda if every PE can use it.  A PE uses the
                current GPU; if GPU 0 is current on all PEs of a node, the k-th PE of the node uses GPU k
    heap_bytes: size of the symmetric heap of a PE; None: PENNYMPI_SYMMETRIC_SIZE.  On GPUs all teams share the heap of
                the first team, and a team of all its PEs enlarges it when it is full
    topology:   the nodes for algorithms: a name such as "two-nodes-of-eight", a TOML file, or "auto", which reads the
                system and the hardware; None: PENNYMPI_TOPOLOGY
    sms:        largest number of multiprocessors of a call without ``sms=``, the same on every PE; None: all

    Raises TypeError, ValueError (also if the arguments, settings or files of two PEs differ, or one is wrong),
    Unsupported (these PEs can't use the backend), SymmetricHeapExhausted, PeerTimeout.  Every PE raises the same.
    """
    if state.simulation is not None:
        team: Team = state.simulation.init(comm)
        return team
    if not MPI.Is_initialized() or MPI.Is_finalized():
        raise Unsupported(
            "pennympi needs MPI.COMM_WORLD, which exists between MPI_Init and MPI_Finalize, and not in a session: call "
            "MPI.Init_thread() before init, and MPI.Finalize() after the last team"
        )
    comm = MPI.COMM_WORLD if comm is None else comm
    if not isinstance(comm, MPI.Intracomm) or comm == MPI.COMM_NULL:
        raise TypeError(f"comm {comm!r} is not an mpi4py intra-communicator: pass MPI.COMM_WORLD or a part of it")
    request = init_arguments.read(comm.size, backend, heap_bytes, topology, sms)
    reason = "" if request.error or request.backend == "host" else why_no_cuda()
    ending.prepare(comm)
    exits.install()
    job = Job(comm, request.timeout_s)
    enable_reports(job.control.local == 0)
    gathered = job.gather((request, reason), "comparison of settings and arguments")
    try:
        init_arguments.agree([gathered_request for gathered_request, _ in gathered])
        name = _choose(request.backend, [reason for _, reason in gathered])
        make = lambda: _make_backend(name, job, request.heap_bytes)  # noqa: E731
        backend_of_team = on_all(job, f"start of the {name} backend", make, error_type=Unsupported)
    except PeerTimeout:
        raise
    except Exception:
        job.close()
        raise
    try:
        team = Team(job, backend_of_team, request.layout, request.sms)
    except (SymmetricHeapExhausted, Unsupported):  # every PE raises it, since all allocate alike
        backend_of_team.close()
        job.close()
        raise
    if backend_of_team.shared and not state.told_of_sharing:
        state.told_of_sharing = True
        if team.me == 0:
            say(f"pennympi: {backend_of_team.shared}: times mean nothing")
    return team


def _choose(wanted: str, reasons: Sequence[str]) -> str:
    """The backend of all PEs.  reasons: for each PE, why it can't use cuda, or "".  Raises Unsupported."""
    if wanted == "auto":
        return "host" if any(reasons) else "cuda"
    if wanted == "cuda" and any(reasons):
        pe, reason = next((pe, why) for pe, why in enumerate(reasons) if why)
        raise Unsupported(f"the cuda backend can't run on PE {pe}: {reason}; use backend='host' where there is no GPU")
    return wanted


def _make_backend(name: str, job: Job, heap_bytes: int | None) -> Backend:
    with timed(f"import of the compiler and the {name} backend"):
        module = importlib.import_module(f".{name}.backend", __package__)
    result: Backend = module.make_backend(job, heap_bytes)
    return result


def why_no_cuda() -> str:
    """The reason why this process can't use the cuda backend, or ""."""
    for module in _CUDA_MODULES:
        try:
            spec = importlib.util.find_spec(module)
        except ModuleNotFoundError:
            spec = None
        if spec is None:
            return f"the module {module} is missing (in the clone: pip install '.[cuda12]' or '.[cuda13]')"
    try:
        with timed("import of CuPy"):
            import cupy

        if cupy.cuda.runtime.getDeviceCount() == 0:
            return "no CUDA device is visible"
    except Exception as error:  # a missing or old driver causes exceptions of many types
        return f"CUDA does not start: {error}"
    return ""


def _end_in_child() -> None:
    """End the teams in a forked child, which is not a part of the job, and must not write to shared memory of the PEs."""
    for team in list(state.teams):
        team._end("this process was forked from a PE of the team, and only the PE itself can use it")


os.register_at_fork(after_in_child=_end_in_child)
