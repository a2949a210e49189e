"""The edge rows by NCCL.

Read first: ../grid/fields.py.
"""

from typing import Any

from ...program.nccl_communicator import Communicator, missing
from ..grid.fields import Fields

__all__ = ["NcclComm", "missing"]


class NcclComm(Communicator):
    """A communicator that swaps rows."""

    def __init__(self, team: Any, fields: Fields):
        super().__init__(team)
        self._fields = fields

    def swap(self, field: Any, stream: Any) -> None:
        """Send the edge rows to both neighbours and receive their rows into the halos, as one group.

        The row from below is received first: with two PEs both rows come from the same PE, which sends upward first.
        """
        slab, at = self._fields.slab, stream.ptr
        with self.nccl.group():
            self.comm.send(field[1], slab.top, stream=at)
            self.comm.recv(field[slab.rows + 1], slab.bottom, stream=at)
            self.comm.send(field[slab.rows], slab.bottom, stream=at)
            self.comm.recv(field[0], slab.top, stream=at)
