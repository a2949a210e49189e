"""GPU-to-GPU communication for MPI programs in Python.

    from mpi4py import MPI
    import pennympi

    with pennympi.init(MPI.COMM_WORLD) as team:
        x = team.full(1 << 20, team.me, "float16")
        team.allreduce(x, op="sum")

``python -m pennympi`` prints a report about this machine.
"""

from . import needs_mpi  # noqa: F401
from .compile.unroll import specialised
from .errors import (
    CollectiveMismatchError,
    CountError,
    KernelError,
    NotInitialized,
    OutOfBounds,
    PeerGaveUp,
    PeerTimeout,
    PennympiError,
    SymmetricHeapExhausted,
    TopologyError,
    TwoThreads,
    Unsupported,
)
from .mpi.comm import Comm
from .simulation import simulate
from .start import init
from .team import Team
from .wall_time import timings

__version__ = "0.1.0"

__all__ = [
    "CollectiveMismatchError",
    "Comm",
    "CountError",
    "KernelError",
    "NotInitialized",
    "OutOfBounds",
    "PeerGaveUp",
    "PeerTimeout",
    "PennympiError",
    "SymmetricHeapExhausted",
    "Team",
    "TopologyError",
    "TwoThreads",
    "Unsupported",
    "init",
    "simulate",
    "specialised",
    "timings",
]
