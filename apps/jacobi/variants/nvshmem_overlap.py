"""NVSHMEM beside the inner rows, the default variant.

    push stream   edge rows | put_signal to both neighbours | wait_signal from both
    stream        inner rows ................ | AllReduce of the norm ............. | next sweep

The loop runs on the device.
Read first: nvshmem.py.
"""

from typing import Any

from ..loop_kernels import Turn
from ..problem import Problem
from . import nvshmem

sentence = "edge rows, puts and signals on a stream of high priority beside the inner rows"


class Variant(nvshmem.Variant):
    """_arrived: for each field the signals that its halo has arrived: (from both PEs, from above, from below)

    Two fields are enough, and no barrier is needed.  A put of sweep k overwrites a halo that the neighbour last read in
    sweep k-1, for its edge rows.  The neighbour sent its signal of sweep k-1 after these rows, and sweep k-1 of this PE
    ended with the wait for this signal.
    The loop's graph sends the same 1 in each turn, so a signal is set to 0 after its wait.  The neighbour sets it again
    in sweep k+2, after it has waited for this PE's signals of sweep k+1, which come later in stream order.
    """

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        self._push, self._signals = team.stream(priority="high"), team.signals(4)
        self._arrived = [(pair, pair[:1], pair[1:]) for pair in (self._signals[:2], self._signals[2:])]

    def sweep(self, stream: Any, turn: Turn) -> None:
        push = self._push
        push.wait_event(stream.record())
        self.launch(push, turn, inner=False)
        edges_swept = push.record()
        self.send(push)
        self.launch(stream, turn, edges=False)
        self.receive(push)
        stream.wait_event(edges_swept)
        self.sum_norm(stream, turn)
        stream.wait_event(push.record())

    def exchange(self, stream: Any) -> None:
        self.send(stream)
        self.receive(stream)

    def send(self, stream: Any) -> None:
        """Put the edge rows into the neighbours' halos, each with its signal."""
        edges, (_, from_up, from_down) = self.fields.edges_of_new, self._arrived[self.fields.current]
        self.team.put_signal(edges.halo_below, edges.first, from_down, 1, self.fields.up, stream=stream)
        self.team.put_signal(edges.halo_above, edges.last, from_up, 1, self.fields.down, stream=stream)

    def receive(self, stream: Any) -> None:
        """Wait until both rows of the halo have arrived."""
        arrived, from_up, from_down = self._arrived[self.fields.current]
        self.team.wait_signal(from_up, 1, source=self.fields.up, stream=stream)
        self.team.wait_signal(from_down, 1, source=self.fields.down, stream=stream)
        with stream:
            arrived[...] = 0

    def finish_exchange(self, stream: Any) -> None:
        """A barrier: the next loop may begin with the field whose halos the last sweep of this loop has sent."""
        self.team.barrier(stream=stream)

    def free(self) -> None:
        super().free()
        self.team.free(self._signals)
