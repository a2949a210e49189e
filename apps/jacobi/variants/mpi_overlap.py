"""MPI beside the inner rows:

    push stream   edge rows  | MPI_Sendrecv up, then down
    stream        inner rows ............................ | norm

Read first: mpi.py.
"""

from . import mpi

sentence = "edge rows on a second stream, exchanged by MPI beside the inner rows"


class Variant(mpi.Variant):
    overlaps = True
