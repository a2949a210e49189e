"""A team of all ranks for the whole session, on GPUs if each rank has one."""

import os
from functools import cache
from importlib.util import find_spec

import pytest
from mpi4py import MPI

import pennympi
from pennympi.compile.options import PLAIN
from pennympi.kernels.allreduce import PLANNED
from pennympi.kernels.exchange import TABLE as FORMS
from pennympi.memory import workspace
from pennympi.settings import setting
from pennympi.start import why_no_cuda

# If a single rank fails, the others wait for it: they end in PeerTimeout, and not at the job's time limit.
os.environ.setdefault("PENNYMPI_TIMEOUT_S", "30")
# Epochs pass 2**31 or 2**32 in all teams of a run, so that a count of fewer than 64 bits fails.
workspace.FIRST_EPOCH = 2 ** (31 + MPI.COMM_WORLD.size // 2 % 2) - 20
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # else JAX takes three quarters of a GPU for one test

# The simulator needs greenlet, which is in the test extra.
collect_ignore_glob = [] if find_spec("greenlet") else ["kernels/test_machine*.py"]


def pytest_ignore_collect(collection_path):
    """Several ranks do not even import a file without an mpi mark: its tests run once, in one process."""
    if MPI.COMM_WORLD.size > 1 and collection_path.match("test_*.py") and "mark.mpi" not in collection_path.read_text():
        return True
    return None


def pytest_report_header():
    vendor, version = MPI.get_vendor()
    chosen = setting("PENNYMPI_BACKEND")
    why = why_no_cuda() if chosen == "auto" else ""
    backend = ("host" if why else "cuda") if chosen == "auto" else chosen
    mpi = f"{vendor} {'.'.join(map(str, version))}"
    return f"MPI: {mpi}, ranks: {MPI.COMM_WORLD.size}, backend: {backend} {why and f'({why})'}"


def pytest_collection_modifyitems(config, items):
    """Deselect tests that are not for this run.  pytest-mpi would skip them one by one, on every rank."""
    only_mpi, with_mpi = (config.getoption(f"--{which}-mpi") for which in ("only", "with"))
    selected = [item for item in items if (with_mpi or is_mpi(item) == only_mpi) and is_small_enough(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(selected)])
    items[:] = selected


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """One process runs a whole file that starts jobs, or compiles for GPUs; other tests run where a process is free.

    pytest-xdist 3.8 has marks for groups, which pytest 9 ignores.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            path = nodeid.partition("::")[0]
            return path if is_run_as_a_whole(config.rootpath / path) else nodeid

    return Scheduling(config, log)


def is_mpi(item):
    """Whether a test has an mpi mark; its keywords do not tell, since they also contain the ids of its parameters."""
    return item.get_closest_marker("mpi") is not None


def is_small_enough(item):
    """Whether a test runs at this number of ranks: its hosts mark may have most_pes, since many ranks are slow there."""
    mark = item.get_closest_marker("hosts")
    over_hosts = item.config.getoption("-m") == "hosts"
    return not (mark and over_hosts) or MPI.COMM_WORLD.size <= mark.kwargs.get("most_pes", MPI.COMM_WORLD.size)


@cache
def is_run_as_a_whole(path):
    """Whether tests of the file share a job that it starts, or functions that it has compiled for GPUs."""
    text = path.read_text()
    return "from launch import" in text or "from gpu_code import" in text


def compile_in_shares(comm):
    """Fill the cache of kernels for CPUs, a share on each rank: a job would compile them one by one.  Collective."""
    from collective_cases import TABLES

    from pennympi.host.runtime.compile import compiled

    algorithms = [algorithm for table in (*TABLES.values(), PLANNED, FORMS) for algorithm in table.values()]
    for algorithm in algorithms[comm.rank :: comm.size]:
        compiled(algorithm.kernel, None, PLAIN.kinds_of(algorithm.kernel))
    comm.Barrier()


@pytest.fixture(scope="session")
def team(request):
    """A team of all ranks.  After a failure the ranks may be in different calls, so the job's hooks end it."""
    team = pennympi.init()
    if team.backend == "host" and team.n_pes > 1:
        compile_in_shares(team.comm)
    yield team
    if not request.session.testsfailed:
        team.finalize()


@pytest.fixture
def with_streams(team):
    """Skip a test where calls return only when they are done, and there are no graphs."""
    if not team._backend.has_streams:
        pytest.skip(f"the {team.backend} backend has no streams")


@pytest.fixture(autouse=True)
def no_array_is_left(request):
    """Free the symmetric arrays that a test has made in the session's team, in the order in which it made them."""
    team = request.getfixturevalue("team") if "team" in request.fixturenames else None
    before = team and {id(x) for _, x in team._arrays._live.values()}
    yield
    if team and not request.session.testsfailed:
        for x in [x for _, x in team._arrays._live.values() if id(x) not in before]:
            team.free(x)
