"""mpi4py's own tests of its release on the package index, with ``pennympi.Comm`` in place of its communicators."""

import re
import sys

import pytest
from launch import PROGRAMS, ROOT, launch

sys.path.append(str(ROOT / "benchmarks"))
import mpi4py_source

MOVED = ("test_cco_buf", "test_cco_vec")  # all of whose messages go by the team
OTHERS = tuple(
    f"test_{name}"
    for name in (
        "cco_nb_buf", "cco_nb_vec", "cco_ngh_buf", "cco_ngh_obj", "cco_obj", "cco_pr_buf", "cco_pr_vec", "cco_pr_ngh_buf",
        "cco_buf_inter", "cco_vec_inter", "cco_obj_inter", "p2p_buf", "p2p_buf_matched", "p2p_buf_part", "p2p_obj",
        "p2p_obj_matched", "comm", "request",
    )
)  # fmt: skip


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The tests of the source distribution, which are not copied into this tree."""
    try:
        return mpi4py_source.unpacked(tmp_path_factory.mktemp("mpi4py")) / "test"
    except RuntimeError as error:
        pytest.skip(str(error))


def ran(folder, which, n_pes, modules, from_bytes):
    """(tests, failures, skipped) on rank 0."""
    env = {"PENNYMPI_COMM_FROM_BYTES": from_bytes, "PENNYMPI_TIMEOUT_S": "60"}
    end = launch(n_pes, str(PROGRAMS / "mpi4py_suite.py"), str(folder), which, *modules, limit_s=300, env=env)
    found = re.search(r"RAN (\d+) (\d+) (\d+)\n", end.output)
    assert end.rc == 0 and found, end.output
    return tuple(map(int, found.groups()))


@pytest.mark.parametrize("n_pes", [1, 2, 3, 5])
@pytest.mark.parametrize(("modules", "from_bytes"), [(MOVED, "0"), (OTHERS, "auto")], ids=["team", "as chosen"])
def test_mpi4pys_tests(folder, n_pes, modules, from_bytes):
    """As many tests run as with mpi4py alone, and none fails."""
    assert ran(folder, "comm", n_pes, modules, from_bytes) == ran(folder, "plain", n_pes, modules, "auto")
