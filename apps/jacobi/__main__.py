"""Solve a Laplace problem on every PE of an MPI job:

    mpirun -np 4 python -m apps.jacobi
    mpirun -np 4 python -m apps.jacobi --nx 128 --ny 128 --bc periodic --niter 100000 --output field.h5 --plot field.png
    mpirun -np 4 python -m apps.jacobi --backend cuda --nx 16384 --ny 16384 --nccheck 100 --variant auto

From an installed package: mpirun -np 4 python -m pennympi.apps.jacobi
"""

import sys


def main(argv: list[str] | None = None) -> int:
    """Run with these arguments (None: those of the command line).  Returns the exit status."""
    from mpi4py import MPI  # the import starts MPI

    from .run import program

    return program(MPI.COMM_WORLD, argv)


if __name__ == "__main__":
    sys.exit(main())
