"""Other libraries, called as their users call them.  ``RIVALS[name](team)`` makes one; it is collective."""

from collections.abc import Callable
from typing import Any

from ...team import Team
from ..implementation import Implementation


def _nccl(team: Team, symmetric: bool) -> Implementation:
    from .nccl import Nccl

    return Nccl(team, symmetric)


def _nvshmem(team: Team) -> Implementation:
    from .nvshmem import Nvshmem

    return Nvshmem(team)


def _mpi(team: Team) -> Implementation:
    from .mpi import Mpi

    return Mpi(team)


def _torch_symm(team: Team, shots: str) -> Implementation:
    from .torch_symm import TorchSymm

    return TorchSymm(team, shots)


RIVALS: dict[str, Callable[[Any], Implementation]] = {
    "nccl": lambda team: _nccl(team, False),
    "nccl-symmetric": lambda team: _nccl(team, True),
    "torch-symm-one-shot": lambda team: _torch_symm(team, "one_shot"),
    "torch-symm-two-shot": lambda team: _torch_symm(team, "two_shot"),
    "nvshmem": _nvshmem,
    "mpi": _mpi,
}
