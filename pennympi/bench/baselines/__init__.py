"""Other libraries, called in the way of their users."""

from importlib import import_module
from typing import Any

from ...errors import Unsupported
from ...team import Team
from ..implementation import Implementation

BASELINES: dict[str, tuple[Any, ...]] = {  # {name: (module in this folder, class, last argument of the constructor)}
    "nccl": ("nccl", "Nccl", False),
    "nccl-symmetric": ("nccl", "Nccl", True),
    "torch-symm-one-shot": ("torch_symm", "TorchSymm", "one_shot"),
    "torch-symm-two-shot": ("torch_symm", "TorchSymm", "two_shot"),
    "nvshmem": ("nvshmem", "Nvshmem"),
    "mpi": ("mpi", "Mpi"),
}


def make(name: str, team: Team, nbytes: int) -> Implementation:
    """A baseline with buffers of ``nbytes``.  Collective.  Raises Unsupported or ImportError if it can't run."""
    module, kind, *arguments = BASELINES[name]
    if module != "mpi" and team.backend != "cuda":
        raise Unsupported(f"{name} needs the cuda backend")
    baseline: Implementation = getattr(import_module(f".{module}", __name__), kind)(team, nbytes, *arguments)
    return baseline
