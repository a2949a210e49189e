"""Messages of arrays between two ranks by ``pennympi.Comm``: us of a message, whether or not MPI is CUDA-aware.

    mpirun -np 2 python benchmarks/messages.py --output messages.json

Every message is compared with the sent array in the run that times it.
"""

from mpi4py import MPI
from rows import main, timed

import pennympi
from pennympi.bench.implementation import array_module
from pennympi.bench.setup import on_host

WINDOW = 16
SIZES = (8, 1 << 14, 1 << 18) if on_host() else (8, 1 << 14, 1 << 18, 1 << 22, 1 << 26)  # bytes


def round_trip(comm, peer, x, y):
    """Send a message, and receive a message of the same size."""
    if comm.rank == 0:
        comm.Send(x, peer)
        comm.Recv(y, peer)
    else:
        comm.Recv(y, peer)
        comm.Send(x, peer)


def sendrecv(comm, peer, x, y):
    """Send and receive a message at the same time."""
    comm.Sendrecv(x, peer, 0, y, peer, 0)


def window(comm, peer, x, y):
    """Send and receive WINDOW messages, completed by MPI's Waitall."""
    receives = [comm.Irecv(y, peer, k) for k in range(WINDOW)]
    MPI.Request.Waitall(receives + [comm.Isend(x, peer, k) for k in range(WINDOW)])


CALLS = {round_trip: 2, sendrecv: 1, window: WINDOW}  # {call: number of messages, one after another}


def measured(team, comm, call, nbytes):
    """us of a message of ``nbytes`` in a call.  Collective."""
    xp, peer = array_module(team), 1 - team.me
    x, y = xp.random.random(nbytes // 8), xp.zeros(nbytes // 8)
    repeats = max(1, (400 if nbytes < 1 << 20 else 50) // CALLS[call])

    def calls():
        for _ in range(repeats):
            call(comm, peer, x, y)

    seconds, _ = timed(team, calls)
    if y.tobytes() != team.comm.sendrecv(x.tobytes(), peer, source=peer):
        raise SystemExit(f"{call.__name__} of {nbytes} bytes: the received array is wrong")
    return round(1e6 * seconds / repeats / CALLS[call], 1)


def all_rows(team):
    """Yield a row for each size."""
    if team.n_pes != 2:
        raise SystemExit(f"messages go between two ranks, and there are {team.n_pes}")
    comm = pennympi.Comm(MPI.COMM_WORLD)
    comm.Barrier()  # before a communicator's first collective, messages of GPUs go through memory of the host
    for nbytes in SIZES:
        yield {"bytes": nbytes, "us": {call.__name__: measured(team, comm, call, nbytes) for call in CALLS}}


if __name__ == "__main__":
    main(__doc__, all_rows)
