"""An NCCL communicator over the team's PEs, by nccl4py.

Read first: ../grid/fields.py.
"""

from typing import Any

from ..grid.fields import Fields


class NcclComm:
    """Making it is collective.  The first call of each kind takes a third of a second."""

    def __init__(self, team: Any, fields: Fields):
        import nccl.core as nccl

        self._nccl, self._fields = nccl, fields
        uid = team.comm.bcast(nccl.get_unique_id() if team.me == 0 else None)
        self._comm = nccl.Communicator.init(team.n_pes, team.me, uid)

    def swap(self, field: Any, stream: Any) -> None:
        """Send the edge rows to both neighbours and receive their rows into the halos, as one group.

        The row from below is received first: with two PEs both rows come from the same PE, which sends upward first.
        """
        slab, at = self._fields.slab, stream.ptr
        with self._nccl.group():
            self._comm.send(field[1], slab.top, stream=at)
            self._comm.recv(field[slab.rows + 1], slab.bottom, stream=at)
            self._comm.send(field[slab.rows], slab.bottom, stream=at)
            self._comm.recv(field[0], slab.top, stream=at)

    def sum(self, source: Any, target: Any, stream: Any) -> None:
        """target = sum of source over the PEs."""
        self._comm.allreduce(source, target, self._nccl.SUM, stream=stream.ptr)


def missing(team: Any) -> str:
    """Why NCCL cannot be used; "" if it can."""
    if team.backend != "cuda":
        return "NCCL needs GPUs, and this is the host backend"
    try:
        import nccl.core  # noqa: F401
    except ImportError:
        return "nccl4py is not installed: pip install nccl4py"
    return ""
