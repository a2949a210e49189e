"""The norm of a sweep, sqrt(sum (new - old)^2): from the words that kernels add to, over the PEs, to the host."""

from typing import Any

from mpi4py import MPI

from pennympi.kernels.in_kernel import WORDS, SumWords
from pennympi.kernels.sweep.norm import COPIES, norm_of

from ..program.device import Readback, array_module

SLOTS = 2  # one sweep adds to a slot while the norm of the sweep before, in the other slot, is summed and read


class Norm:
    """Two slots of words, used in turn, whose sum has the same bits for any number of PEs: they are exact integers.

    how: "library", the team's AllReduce on a stream of its own, beside the next sweep; "mpi", MPI_Allreduce on the host;
         "alone", this PE only, by memory that no other PE sees
    words: (SLOTS, COPIES, WORDS) int64, zero when a sweep begins
    """

    def __init__(self, team: Any, how: str):
        shape, xp = (SLOTS, COPIES, WORDS), array_module(team)
        self._team, self._how, self._stream, self._event = team, how, team.stream(priority="high"), None
        new = team.zeros if how == "library" else xp.zeros
        self.words, self._totals = (new(shape, "int64") for _ in range(2))
        self.slots = list(self.words)
        self._readbacks = [Readback(team, self._totals[slot]) for slot in range(SLOTS)]
        pairs = zip(self.words, self._totals, strict=True) if how == "library" else ()
        self._plans = [team.plan_allreduce(*pair, op="sum") for pair in pairs]

    def start(self, slot: int, stream: Any) -> None:
        """Sum a slot over the PEs and copy it to the host, after what is in the stream.  Collective."""
        self._event = stream.record(self._event)
        self._stream.wait_event(self._event)
        with self._stream:
            if self._plans:
                self._plans[slot](stream=self._stream)
            else:
                self._totals[slot] = self.words[slot]
            self.words[slot] = 0  # before the readback ends, for which the host waits before it uses the slot again
        self._readbacks[slot].start(self._stream)

    def wait(self, slot: int) -> float:
        """The norm of the sweep whose slot was started last.  NaN if a change was NaN or far too large."""
        sums = self._readbacks[slot].wait().sum(axis=0)
        if self._how == "mpi":
            self._team.comm.Allreduce(MPI.IN_PLACE, sums)
        return norm_of(SumWords(*sums[: len(SumWords._fields)].tolist()))

    def free(self) -> None:
        """Free the words.  Collective."""
        self._team.synchronize(self._stream)
        for symmetric in (self.words, self._totals) if self._how == "library" else ():
            self._team.free(symmetric)
