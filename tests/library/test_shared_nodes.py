"""PEs that can't map each other's memory are on different nodes, and use MPI."""

import os
import subprocess
import sys

import pytest
from launch import PROGRAMS, launch, mpirun

from pennympi.job import nodes
from pennympi.job.process import Process

APART = ("unshare", "--user", "--map-root-user")


def named(reached, hosts):
    """The PEs with the same name."""
    made = nodes.named_apart([Process(host, pe, "machine") for pe, host in enumerate(hosts)], reached)
    return [[one.node for one in made].index(process.node) for process in made]


@pytest.mark.parametrize(
    ("reached", "hosts", "first_of_each"),
    [
        ([{1, 2}, {0, 2}, {0, 1}], "aaa", [0, 0, 0]),
        ([set(), set(), set()], "aaa", [0, 1, 2]),
        ([{1}, {0}, {3}, {2}], "aaaa", [0, 0, 2, 2]),  # two containers with two PEs each
        ([{1, 2}, {2}, {1}], "aaa", [0, 1, 1]),  # the first PE can map the others' memory, but they can't map its memory
        ([set(), {0}, {0}], "aaa", [0, 0, 0]),  # only maps of the first PE count
        ([set(), {2}, {0, 1}], "aaa", [0, 1, 0]),
        ([{2}, {3}, {0}, {1}], "abab", [0, 1, 0, 1]),
        ([set(), {3}, set(), {1}], "abab", [0, 1, 2, 1]),
    ],
)
def test_all_of_a_node_map_the_memory_of_its_first(reached, hosts, first_of_each):
    assert named(reached, hosts) == first_of_each


def test_a_piece_is_known_by_what_it_holds(tmp_path):
    with nodes._piece() as (fd, mark):
        pid = os.getpid()
        assert nodes._maps(pid, fd, mark) and not nodes._maps(pid, fd, mark[::-1])  # of another process
        (tmp_path / "short").write_bytes(b"1")
        with open(tmp_path / "short", "r+b") as short:
            assert not nodes._maps(pid, short.fileno(), mark)
    assert not nodes._maps(pid, fd, mark)


@pytest.mark.parametrize(("apart", "nodes_text"), [((1,), "[[0], [1]]"), ((0,), "[[0, 1]]")])
def test_user_namespaces(apart, nodes_text):
    """One rank is in one of its own: the other one may look into it, but not it into the other."""
    if subprocess.run([*APART, "true"], capture_output=True).returncode:
        pytest.skip("this machine refuses user namespaces")
    program = 'case " $0 " in *" ${PMI_RANK:-$OMPI_COMM_WORLD_RANK} "*) exec $APART "$@";; esac; exec "$@"'
    command = [mpirun(), "-np", "2", "sh", "-c", program, " ".join(map(str, apart)), sys.executable]
    # MPI must not read the memory of other ranks through the kernel either.
    env = {
        "APART": " ".join(APART),
        "PENNYMPI_BACKEND": "host",
        "PENNYMPI_TIMEOUT_S": "60",
        "MPIR_CVAR_CH4_CMA_ENABLE": "0",
    }
    ended = launch(2, str(PROGRAMS / "apart.py"), command=command, env=env, limit_s=100)
    assert ended.rc == 0 and f"nodes {nodes_text}" in ended.output, ended.output
