"""The state of this process, which the first ``init`` fills and the last ``finalize`` empties.

Only NVSHMEM stays after the last team has ended, since it can't be started again.
"""

from typing import Any
from weakref import WeakSet, ref


class State:
    """The class of the object ``state``.  It names no class of the library, since every folder imports it.

    teams:   teams that are not finalized
    jobs:    jobs of these teams, the oldest first
    heaps:   heaps of teams on CPUs
    network: state that their channels to other nodes share (host/runtime/network.py), None before the first channel
    world:   state that teams on GPUs share, such as NVSHMEM (cuda/memory/world.py), None before the first team
    changes: number of changes of the memory that any team holds or knows: a check is repeated after a change
    freed:   {id: array} of all teams' arrays that were freed and still live
    simulation: the running schedule (simulation.py), which makes the teams of ``init``; None outside a simulation
    told_of_sharing: whether a line on stderr has reported that PEs share cores or a GPU
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
