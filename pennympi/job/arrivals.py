"""Who has come to ``init``, without a message on the program's communicator, where it may listen to any."""

from __future__ import annotations

import pickle

from mpi4py import MPI

from .process import Process, this_process

PROCESS_BYTES, NODE_CHARACTERS = 2048, 450  # of a PE's message, which says where it runs


class Arrivals:
    """A barrier over ``comm``, entered when it is made and then polled, of MPI's collectives alone.

    Each PE scatters to the others where it runs.  The root of MPI_Iscatterv sends to every PE itself, so a scatter that
    ended shows that its root has come.
    """

    def __init__(self, comm: MPI.Intracomm):
        self._me, n_pes = comm.Get_rank(), comm.Get_size()
        process = this_process()
        own = pickle.dumps(process._replace(node=process.node[:NODE_CHARACTERS])).ljust(PROCESS_BYTES, b"\0")
        sent = [own * n_pes, [len(own)] * n_pes, [len(own) * pe for pe in range(n_pes)], MPI.BYTE]
        self._came = [bytearray(len(own)) for _ in range(n_pes)]
        self._scatters = {
            pe: comm.Iscatterv(sent if pe == self._me else None, [came, MPI.BYTE], root=pe)
            for pe, came in enumerate(self._came)
        }

    def complete(self) -> bool:
        """True once every PE has come."""
        self._scatters = {pe: request for pe, request in self._scatters.items() if not request.Test()}
        return not self._scatters

    def absent(self) -> list[int]:
        """The PEs that had not come at the last call of ``complete``, in order."""
        return [pe for pe in self._scatters if pe != self._me]

    def processes(self) -> list[Process]:
        """The processes of all PEs, once every PE has come."""
        return [pickle.loads(came) for came in self._came]  # zeros after the end are not read
