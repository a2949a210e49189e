"""Who has come to ``init``, without a message on the program's communicator, where it may listen to any."""

from __future__ import annotations

from mpi4py import MPI


class Arrivals:
    """A barrier over ``comm``, entered when it is made and then polled, of MPI's collectives alone.

    Each PE scatters a byte to the others.  The root of MPI_Iscatterv sends to every PE itself, so a scatter that ended
    shows that its root has come.
    """

    def __init__(self, comm: MPI.Intracomm):
        self._me, n_pes = comm.Get_rank(), comm.Get_size()
        sent = [bytes(n_pes), [1] * n_pes, list(range(n_pes)), MPI.BYTE]
        self._scatters = {
            pe: comm.Iscatterv(sent if pe == self._me else None, [bytearray(1), MPI.BYTE], root=pe) for pe in range(n_pes)
        }

    def complete(self) -> bool:
        """True once every PE has come."""
        self._scatters = {pe: request for pe, request in self._scatters.items() if not request.Test()}
        return not self._scatters

    def absent(self) -> list[int]:
        """The PEs that had not come at the last call of ``complete``, in order."""
        return [pe for pe in self._scatters if pe != self._me]
