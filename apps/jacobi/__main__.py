"""Solve a Laplace problem on every PE of an MPI job:

    mpirun -np 4 python -m apps.jacobi
    mpirun -np 16 python -m apps.jacobi --nx 512 --ny 512 --niter 200 --verify
    mpirun -np 4 python -m apps.jacobi --method chebyshev --dtype float64 --niter 9999 --output field.h5 --plot a.png
    mpirun -np 4 python -m apps.jacobi --checkpoint run.h5 --restart
    mpirun -np 4 python -m apps.jacobi --backend cuda --nx 16384 --ny 16384 --nccheck 100
    python -m apps.jacobi --dry-run 16 --nx 65536 --ny 65536

The same from an installed package: mpirun -np 4 python -m pennympi.apps.jacobi
"""

import sys

from .timing.wall import Wall


def main(argv: list[str] | None = None) -> int:
    """Run with these arguments (default: the command line's)."""
    wall = Wall()
    from mpi4py import MPI  # which starts MPI: imported here, because --timings times the imports

    wall.lap("import of mpi4py, start of MPI")
    import pennympi

    from .cli.program import program

    wall.library = pennympi.timings
    wall.lap("import of pennympi and the solver")
    return program(MPI.COMM_WORLD, wall, argv)


if __name__ == "__main__":
    sys.exit(main())
