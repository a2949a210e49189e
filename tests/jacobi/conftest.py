"""The program, run by the ranks of this job."""

import re

import pytest
from mpi4py import MPI

from apps.jacobi import run

COMM = MPI.COMM_WORLD


@pytest.fixture
def folder(tmp_path):
    """PE 0's tmp_path, on all PEs."""
    return COMM.bcast(tmp_path)


@pytest.fixture
def jacobi(team, capfd):  # the session's team comes first, since other teams are parts of it
    def program(line, *more, comm=COMM):
        """(exit status, printed text) of the program on these ranks."""
        capfd.readouterr()
        try:
            status = run.program(comm, [*line.split(), *map(str, more)])
        except SystemExit as stop:
            status = stop.code
        COMM.Barrier()
        printed = capfd.readouterr()
        return status, re.sub(r"^compiling kernel .*\n", "", printed.out + printed.err, flags=re.MULTILINE)

    return program
