"""A loop of the host, which waits for each norm and sums it by MPI."""

from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI

from pennympi.kernels.in_kernel import WORDS, SumWords
from pennympi.kernels.sweep.norm import COPIES, norm_of

from ..program.device import Readback, address, array_module
from .loop_kernels import Turn
from .problem import Problem, next_due
from .solver import Ends, SweepBySweep


class HostLoop(SweepBySweep):
    """Base of the variants by MPI and NCCL.

    overlaps: True if the edge rows and their exchange run on a second stream, beside the inner rows
    """

    exchange: Callable[[Any], None]
    overlaps = False

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        self.words = array_module(team).zeros((COPIES, WORDS), "int64")  # words of a norm, zero before each sweep
        self._readback = Readback(team, self.words)
        self._push = team.stream(priority="high")

    def sweep(self, stream: Any, turn: Turn) -> None:
        if self.overlaps:
            self._push.wait_event(stream.record())
            self.launch(self._push, turn, inner=False)
            self.launch(stream, turn, edges=False)
            self.exchange(self._push)
            stream.wait_event(self._push.record())
        else:
            self.launch(stream, turn)
            self.exchange(stream)

    def repeated(self, body: Callable[[Any], None], n: int) -> Callable[[Any], None]:
        def run(stream: Any) -> None:
            for _ in range(n):
                body(stream)

        return run

    def sweeps(self, done: int, stop: int, show: bool, ends: Ends) -> bool:
        for k in range(done, stop):
            due = next_due(self.problem, k, show) == k
            self.sweep(self.stream, Turn(0, 0, address(self.words) if due else 0, 0.0, 0))
            self.fields.advance()
            if due and ends(np.array([k]), np.array([self.norm()])):
                return True
        return False

    def norm(self) -> float:
        """The norm of the last sweep, sqrt(sum (new - old)^2).  NaN if a change was NaN or far too large."""
        self._readback.start(self.stream)
        sums = self._readback.wait().sum(axis=0)
        with self.stream:
            self.words[...] = 0
        self.team.comm.Allreduce(MPI.IN_PLACE, sums)
        return norm_of(SumWords(*sums[: len(SumWords._fields)].tolist()))
