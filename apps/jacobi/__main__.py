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

from mpi4py import MPI

import pennympi

from .cli import cli, dry_run, room
from .cli.arguments import fail
from .cli.run import Run
from .outcome import DONE, FAILED
from .printing import lost, say
from .variants import row_of
from .variants.memory import heap_bytes
from .verify import checks


def main(argv: list[str] | None = None) -> int:
    """Run with these arguments (default: the command line's)."""
    comm = MPI.COMM_WORLD
    options, problem = cli.parse(comm, argv)
    dry = options.dry_run is not None
    heap = None if dry else heap_bytes(problem, comm.size, options.variant)
    if not dry and (reason := room.shortage(comm, options, problem)):
        fail(comm, reason)
    try:
        team = pennympi.init(comm, backend=options.backend, heap_bytes=heap)
    except (pennympi.Unsupported, pennympi.SymmetricHeapExhausted) as error:
        fail(comm, str(error))
    with team:
        if dry:
            lines = dry_run.lines(team, problem, options.dry_run or comm.size, options.variant)
            if team.me == 0:
                say(*lines)
            return FAILED if comm.bcast(lost()) else DONE
        check = checks.TABLE[options.verify]() if options.verify else None
        row = row_of(problem, options.variant)
        reason = row.refuse(team, problem) and f"--variant {row.name} cannot run here: {row.refuse(team, problem)}"
        if check and not reason:
            reason = check.refuse(team, problem) and f"--verify {options.verify}: {check.refuse(team, problem)}"
        reason = next((one for one in comm.allgather(reason) if one), "")
        if not reason:
            return Run(team, options, problem, check).status()
    fail(comm, reason)


if __name__ == "__main__":
    sys.exit(main())
