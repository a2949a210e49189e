"""PE 1 never comes to init."""

import sys

from mpi4py import MPI

import pennympi

if MPI.COMM_WORLD.Get_rank() == 1:
    sys.exit(0)
with pennympi.init():
    pass
