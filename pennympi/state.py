"""The state of this process: what the first ``init`` fills and the last ``finalize`` leaves empty.

NVSHMEM alone stays when the last team has ended, because it can't be started again.
"""

from typing import Any
from weakref import WeakSet, ref


class State:
    """One object: ``state``.  It names no class of the library, since every folder imports it.

    teams:   that are not finalized
    jobs:    of these teams, the oldest first
    heaps:   of teams on CPUs
    network: what their channels to other nodes share (host/runtime/network.py), None before there is one
    world:   NVSHMEM and what teams on GPUs share (cuda/memory/world.py), None before there is one
    changes: of the memory that any team holds or knows: what was checked before one is checked again
    freed:   arrays of all teams that were freed and still live, by id
    simulation: the schedule that runs (simulation.py), whose teams ``init`` makes; None outside
    told_of_sharing: whether a line on stderr has said that PEs share cores or a GPU
    """

    def __init__(self) -> None:
        self.teams: WeakSet[Any] = WeakSet()
        self.jobs: list[Any] = []
        self.heaps: list[Any] = []
        self.network: Any = None
        self.world: Any = None
        self.changes = 0
        self.freed: dict[int, ref[Any]] = {}
        self.simulation: Any = None
        self.told_of_sharing = False


state = State()
