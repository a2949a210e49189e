"""NCCL: grouped sends and receives of the edge rows, after the sweep.

    stream   all rows | ncclGroup: 2 sends, 2 receives | norm

Read first: mpi.py.
"""

from typing import Any

from ...program.nccl_communicator import Communicator, missing
from ..host_loop import HostLoop
from ..problem import Problem

sentence = "grouped sends and receives after the sweep (GPUs)"


class Variant(HostLoop):
    """NCCL for the rows.  MPI sums the norm's few bytes: ncclAllReduce, which is made for bandwidth, took longer."""

    def __init__(self, team: Any, problem: Problem):
        super().__init__(team, problem)
        self._nccl = Communicator(team)

    @classmethod
    def why_not(cls, team: Any) -> str:
        return missing(team)

    def exchange(self, stream: Any) -> None:
        """Send the edge rows to both neighbours and receive their rows into the halos, as one group.

        The row from below is received first: each of two PEs gets both rows from the other, which sends upward first.
        """
        field = self.fields.new
        up, down, rows, comm = self.fields.up, self.fields.down, self.fields.rows, self._nccl.comm
        with self._nccl.nccl.group():
            comm.send(field[1], up, stream=stream.ptr)
            comm.recv(field[rows + 1], down, stream=stream.ptr)
            comm.send(field[rows], down, stream=stream.ptr)
            comm.recv(field[0], up, stream=stream.ptr)
