"""init: from a communicator to a team."""

import importlib.util
from typing import Any

from mpi4py import MPI

from .backend import Backend
from .errors import PennympiError, TopologyError, Unsupported
from .job import exits
from .job.job import Job
from .settings import setting
from .team import Team
from .topology.place import agree_on_layout, topology_name

_CUDA_MODULES = ("cupy", "nvshmem", "numba.cuda", "cuda.bindings")


def init(
    comm: Any = None,
    backend: str = "auto",
    heap_bytes: int | None = None,
    topology: Any = None,
    sms: int | None = None,
) -> Team:
    """Make a team of the PEs of an mpi4py communicator.  Collective; use it with ``with``.

    comm:       any intra-communicator, by default MPI.COMM_WORLD; on GPUs one whose PEs are all in the first
                team that the process made, in any order
    backend:    "host", "cuda", or "auto" (cuda where every PE can; PENNYMPI_BACKEND overrides auto)
    heap_bytes: symmetric heap of one PE (PENNYMPI_SYMMETRIC_SIZE); on GPUs all teams share that of the first, which
                a team of all its PEs makes larger when it is full
    topology:   nodes to lay over the PEs: a name such as "two-nodes-of-eight", a TOML file, or "auto" for
                what MPI and the hardware say (PENNYMPI_TOPOLOGY)
    sms:        on how many multiprocessors a call may hold a block that does not say, the same on every PE; None: all

    Raises TypeError, ValueError, TopologyError, Unsupported (the backend is not possible here, or not for these
    PEs), SymmetricHeapExhausted, PeerTimeout.
    """
    comm = MPI.COMM_WORLD if comm is None else comm
    if not isinstance(comm, MPI.Intracomm) or comm == MPI.COMM_NULL:
        raise TypeError(f"comm {comm!r} is not an mpi4py intra-communicator: pass MPI.COMM_WORLD or a split of it")
    if backend not in ("auto", "host", "cuda"):
        raise ValueError(f"backend {backend!r} is unknown: use 'auto', 'host' or 'cuda'")
    if heap_bytes is not None and heap_bytes <= 0:
        raise ValueError(f"heap_bytes {heap_bytes} is not positive")
    wanted = setting("PENNYMPI_BACKEND") if backend == "auto" else backend
    nodes = topology_name(topology)
    exits.install()
    job = Job(comm)
    try:
        layout = agree_on_layout(job, nodes)
    except TopologyError:
        job.close()
        raise
    reasons = job.gather(why_no_cuda() if wanted != "host" else "", "choice of a backend")
    if wanted == "auto":
        wanted = "host" if any(reasons) else "cuda"
    elif wanted == "cuda" and any(reasons):
        pe, reason = next((pe, why) for pe, why in enumerate(reasons) if why)
        job.close()
        raise Unsupported(f"the cuda backend can't run on PE {pe}: {reason}; use backend='host' where there is no GPU")
    return Team(job, _together(job, wanted, heap_bytes), layout, sms)


def _together(job: Job, name: str, heap_bytes: int | None) -> Backend:
    """Make the backend on every PE, or raise the first PE's error on all."""
    made: Backend | None = None
    error: Exception | None = None
    try:
        made = _backend(job, name, heap_bytes)
    except (PennympiError, OSError, ValueError, RuntimeError) as caught:
        error = caught
    errors = job.gather(None if error is None else f"{type(error).__name__}: {error}", "start of the backend")
    if any(errors):
        job.close()
        if error is not None:
            raise error
        pe, text = next((pe, text) for pe, text in enumerate(errors) if text)
        raise Unsupported(f"PE {pe} could not start the {name} backend: {text}")
    assert made is not None
    return made


def _backend(job: Job, name: str, heap_bytes: int | None) -> Backend:
    if name == "cuda":
        from .cuda.backend import CudaBackend

        return CudaBackend(job, heap_bytes)
    from .host.backend import HostBackend

    return HostBackend(job, heap_bytes)


def why_no_cuda() -> str:
    """Why this process can't use the cuda backend, or ""."""
    for module in _CUDA_MODULES:
        try:
            found = importlib.util.find_spec(module)
        except ModuleNotFoundError:
            found = None
        if found is None:
            return f"the module {module} is missing (pip install pennympi[cuda12] or pennympi[cuda13])"
    try:
        import cupy

        if cupy.cuda.runtime.getDeviceCount() == 0:
            return "no CUDA device is visible"
    except Exception as error:  # a driver that is missing or too old, in many shapes
        return f"CUDA does not start: {error}"
    return ""
