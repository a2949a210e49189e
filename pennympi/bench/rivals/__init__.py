"""Other libraries, called as their users would call them."""

from collections.abc import Callable
from typing import Any

from ...team import Team
from ..contestant import Contestant


def _nccl(team: Team, symmetric: bool) -> Contestant:
    from .nccl import Nccl

    return Nccl(team, symmetric)


def _nvshmem(team: Team) -> Contestant:
    from .nvshmem import Nvshmem

    return Nvshmem(team)


def _mpi(team: Team) -> Contestant:
    from .mpi import Mpi

    return Mpi(team)


RIVALS: dict[str, Callable[[Any], Contestant]] = {
    "nccl": lambda team: _nccl(team, False),
    "nccl-symmetric": lambda team: _nccl(team, True),
    "nvshmem": _nvshmem,
    "mpi": _mpi,
}
