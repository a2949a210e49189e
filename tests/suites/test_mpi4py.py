"""mpi4py's own tests of its release on the package index, with ``pennympi.Comm`` in place of its communicators."""

import re
import subprocess
import sys
import tarfile

import pytest
from launch import PROGRAMS, launch

VERSION = "4.1.2"
MOVED = ("cco_buf", "cco_vec")  # modules whose messages all go through the team
NON_BLOCKING = ("cco_nb_buf", "cco_nb_vec", "cco_ngh_buf", "cco_ngh_obj", "cco_obj")
PERSISTENT = ("cco_pr_buf", "cco_pr_vec", "cco_pr_ngh_buf")
BETWEEN_GROUPS = ("cco_buf_inter", "cco_vec_inter", "cco_obj_inter")  # of processes, whose communicators are MPI's
MESSAGES = ("p2p_buf", "p2p_buf_matched", "p2p_buf_part", "p2p_obj", "p2p_obj_matched", "comm", "request")
GROUPS = {  # name: modules, PENNYMPI_COMM_FROM_BYTES.  At 5 ranks on two cores a group took 80 to 95 s
    "team": (MOVED, "0"),
    "non-blocking": (NON_BLOCKING, "auto"),
    "persistent": (PERSISTENT, "auto"),
    "between groups": (BETWEEN_GROUPS, "auto"),
    "messages": (MESSAGES, "auto"),
}


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The tests of mpi4py's source distribution, which are not copied into this tree."""
    to = tmp_path_factory.mktemp("mpi4py")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-binary", "mpi4py", "--dest", str(to)]
    pip = [sys.executable, "-m", "pip", "download", *options, f"mpi4py=={VERSION}"]
    got = subprocess.run(pip, capture_output=True, text=True, timeout=120)
    if got.returncode:
        pytest.skip(f"the package index does not give mpi4py {VERSION}: {got.stderr[-200:]}")
    with tarfile.open(to / f"mpi4py-{VERSION}.tar.gz") as archive:
        archive.extractall(to, filter="data")
    return to / f"mpi4py-{VERSION}" / "test"


def ran(folder, which, n_pes, modules, from_bytes):
    """(tests, failures, skipped) on rank 0."""
    env = {"PENNYMPI_COMM_FROM_BYTES": from_bytes, "PENNYMPI_TIMEOUT_S": "60"}
    names = [f"test_{module}" for module in modules]
    end = launch(n_pes, str(PROGRAMS / "mpi4py_suite.py"), str(folder), which, *names, limit_s=300, env=env)
    found = re.search(r"RAN (\d+) (\d+) (\d+)\n", end.output)
    assert end.rc == 0 and found, end.output
    return tuple(map(int, found.groups()))


@pytest.mark.parametrize("n_pes", [1, 2, 3, 5])
@pytest.mark.parametrize("group", GROUPS)
def test_mpi4pys_tests(folder, n_pes, group):
    """As many tests run as with mpi4py alone, and none fails."""
    modules, from_bytes = GROUPS[group]
    assert ran(folder, "comm", n_pes, modules, from_bytes) == ran(folder, "plain", n_pes, modules, "auto")
