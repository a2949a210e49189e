"""MPI beside the inner rows:

    push stream   edge rows  | MPI_Sendrecv up, then down
    stream        inner rows ............................ | norm

Read first: mpi.py.
"""

from . import mpi

sentence = "edge rows on a stream of their own, exchanged by MPI while the inner rows run"


class Variant(mpi.Variant):
    """``mpi``, where ``HostLoop`` overlaps."""

    overlaps = True
