"""Numbers that any PE may propose, agreed by all PEs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .device import array_module, to_numpy


class Agreement:
    """Every PE proposes ``count`` integers and gets the largest of each, by the library's AllReduce.  Collective."""

    def __init__(self, team: Any, count: int):
        self._team = team
        self._words = team.zeros(count, "int64")

    def __call__(self, *mine: int) -> Sequence[int]:
        """The largest of each number over the PEs.  Collective.  Raises PeerTimeout."""
        self._words[...] = array_module(self._team).asarray(np.array(mine, "int64"))
        self._team.synchronize()
        self._team.allreduce(self._words, op="max")
        self._team.synchronize()
        return [int(word) for word in to_numpy(self._words)]

    def free(self) -> None:
        """Free the words.  Collective."""
        self._team.free(self._words)
