"""What some PEs wish, known to all of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..grid.device import array_module, to_numpy


class Agreement:
    """Whole numbers that every PE proposes and of which all learn the largest, through the library's AllReduce.

    count: how many numbers.  Made and called by all PEs alike.
    """

    def __init__(self, team: Any, count: int):
        self._team = team
        self._words = team.zeros(count, "int64")

    def __call__(self, *mine: int) -> Sequence[int]:
        """The largest of each number over the PEs.  Raises PeerTimeout when one does not come."""
        self._words[...] = array_module(self._team).asarray(np.array(mine, "int64"))
        self._team.synchronize()
        self._team.allreduce(self._words, op="max")
        self._team.synchronize()
        return [int(word) for word in to_numpy(self._words)]

    def free(self) -> None:
        """Give the words back.  Collective."""
        self._team.free(self._words)
