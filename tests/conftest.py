"""One team for the whole session, over all ranks, on the GPU where there is one."""

import os

import pytest
from mpi4py import MPI

import pennympi
from pennympi.settings import setting
from pennympi.start import why_no_cuda

# A rank that failed alone leaves the others waiting: they end in PeerTimeout, not in the job's time limit.
os.environ.setdefault("PENNYMPI_TIMEOUT_S", "30")


def pytest_report_header():
    vendor, version = MPI.get_vendor()
    chosen = setting("PENNYMPI_BACKEND")
    why = why_no_cuda() if chosen == "auto" else ""
    backend = ("host" if why else "cuda") if chosen == "auto" else chosen
    mpi = f"{vendor} {'.'.join(map(str, version))}"
    return f"MPI: {mpi}, ranks: {MPI.COMM_WORLD.size}, backend: {backend} {why and f'({why})'}"


@pytest.hookimpl(tryfirst=True)  # xdist reads the marks
def pytest_collection_modifyitems(items):
    """Tests of files that start jobs run one after the other, also where pytest-xdist runs others beside them: a job has
    the cores that it expects, and no other one's files in /dev/shm are taken for its own."""
    for item in items:
        if hasattr(item.module, "launch"):
            item.add_marker(pytest.mark.xdist_group("jobs"))


@pytest.fixture(scope="session")
def team(request):
    """A team of all ranks.  After a failure the others may be anywhere: then the job's hooks end it."""
    team = pennympi.init()
    yield team
    if not request.session.testsfailed:
        team.finalize()
