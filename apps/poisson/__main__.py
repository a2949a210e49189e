"""Solve Poisson's equation on every PE of an MPI job:

    mpirun -np 4 python -m apps.poisson --verify --plot poisson.png
    mpirun -np 4 python -m apps.poisson --shape 255x255x255 --preconditioner multigrid
    mpirun -np 4 python -m apps.poisson --rhs f.npy --output u.h5
    mpirun -np 4 python -m apps.poisson --checkpoint run.h5 --restart

The same from an installed package: mpirun -np 4 python -m pennympi.apps.poisson
"""

import sys


def main(argv: list[str] | None = None) -> int:
    """Run with these arguments (default: the command line's)."""
    from mpi4py import MPI

    from .run import program

    return program(MPI.COMM_WORLD, argv)


if __name__ == "__main__":
    sys.exit(main())
