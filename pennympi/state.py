"""The state of this process: what the first ``init`` fills and the last ``finalize`` leaves empty.

NVSHMEM alone stays when the last team has ended, because it can't be started again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakSet, ref

if TYPE_CHECKING:
    from .job.job import Job
    from .team import Team


class State:
    """One object: ``state``.

    teams:   that are not finalized
    jobs:    of these teams, the oldest first
    heaps:   of teams on CPUs
    network: what their channels to other nodes share (host/network.py), None before there is one
    world:   NVSHMEM and what teams on GPUs share (cuda/world.py), None before there is one
    changes: of the memory that any team holds or knows: what was checked before one is checked again
    freed:   arrays of all teams that were freed and still live, by id
    """

    def __init__(self) -> None:
        self.teams: WeakSet[Team] = WeakSet()
        self.jobs: list[Job] = []
        self.heaps: list[Any] = []
        self.network: Any = None
        self.world: Any = None
        self.changes = 0
        self.freed: dict[int, ref[Any]] = {}


state = State()
