"""Solve a Laplace problem on every PE of an MPI job:

    mpirun -np 4 python -m apps.jacobi
    mpirun -np 4 python -m apps.jacobi --nx 128 --ny 128 --bc periodic --niter 100000 --output field.h5 --plot field.png
    mpirun -np 4 python -m apps.jacobi --backend cuda --nx 16384 --ny 16384 --nccheck 100 --variant auto

The same from an installed package: mpirun -np 4 python -m pennympi.apps.jacobi
"""

import sys


def main(argv: list[str] | None = None) -> int:
    """Run with these arguments (default: the command line's)."""
    from mpi4py import MPI  # which starts MPI

    from .run import program

    return program(MPI.COMM_WORLD, argv)


if __name__ == "__main__":
    sys.exit(main())
