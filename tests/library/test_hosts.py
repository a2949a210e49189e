"""tools/hosts.sh, programs between its hosts, and the faults of ranks, hosts and links; PENNYMPI_NODE."""

import re
import subprocess
import sys
from collections import Counter
from functools import cache

import pytest
from launch import PROGRAMS, ROOT, launch, mpirun
from mpi4py import MPI

HOSTS = str(ROOT / "tools" / "hosts.sh")
STRUCK = [sys.executable, str(PROGRAMS / "strike_host.py")]
TIMEOUT_S, MORE_S = 4.0, 2.0
WHERE = """import os, platform
os.write(1, f"at {platform.node()} {os.getpid() < 1000} {os.stat('/dev/shm').st_dev}\\n".encode())  # whole"""


@cache
def why_no_hosts():
    """The message of tools/hosts.sh if it can't make a host, or ""."""
    message = subprocess.run([HOSTS, "1", "true"], capture_output=True, text=True, timeout=20)
    return "" if message.returncode == 0 else message.stderr or "?"


def launch_on_hosts(n_hosts, *command, limit_s=120, **env):
    """``launch`` of a command with n_hosts hosts; "mpirun" is that of this Python.  Skip the test without hosts.

    AllReduce has a fixed algorithm, since auto would depend on measurements: short deadlines leave no time to compile.
    """
    if why := why_no_hosts():
        pytest.skip(why)
    words = [mpirun() if word == "mpirun" else str(word) for word in command]
    env = {
        "PENNYMPI_BACKEND": "host",
        "PENNYMPI_TIMEOUT_S": "100",
        "PENNYMPI_ALGORITHM": "allreduce:recursive_doubling",
    } | env
    ended = launch(0, *words, command=[HOSTS, str(n_hosts)], env=env, limit_s=limit_s)
    assert ended.rc is not None, f"hangs after {limit_s} s:\n{ended.output}"
    assert not ended.left_alive and not ended.left_in_shm, ended
    return ended


def test_ranks_are_spread_over_hosts_of_their_own():
    ended = launch_on_hosts(2, "mpirun", "-np", 3, sys.executable, "-c", WHERE)
    found = Counter(re.findall(r"at (host\d) True (\d+)", ended.output))
    assert ended.rc == 0, ended.output
    assert {host: n for (host, _), n in found.items()} == {"host0": 2, "host1": 1}
    assert len({shm for _, shm in found}) == 2, "a /dev/shm of each host's own"


@pytest.mark.slow
def test_the_readmes_program_on_three_hosts(tmp_path):
    program = tmp_path / "example.py"
    program.write_text(re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[1])
    ended = launch_on_hosts(3, "mpirun", "-np", 3, sys.executable, program, limit_s=200)
    assert ended.rc == 0, ended.output


@pytest.mark.slow
def test_the_solver_on_two_hosts_and_its_checkpoint_on_one(tmp_path):
    line = "-m apps.jacobi --nx 100 --ny 90 --niter 60 --nccheck 10 --tol 0".split()
    first = [*line, "--verify", "--checkpoint", tmp_path / "saved.h5"]
    ended = launch_on_hosts(2, "mpirun", "-np", 4, sys.executable, *first, limit_s=200)
    assert ended.rc == 0 and "PASS" in ended.output, ended.output
    again = [*line, "--niter", "120", "--verify", "--restart", str(tmp_path / "saved.h5")]
    ended = launch(2, *again, env={"PENNYMPI_BACKEND": "host"}, limit_s=200)
    assert ended.rc == 0 and "PASS" in ended.output, ended.output


def seconds_to_the_end(output):
    fault_s, ended_s = (float(re.search(rf"^{word} ([\d.]+)$", output, re.MULTILINE)[1]) for word in ("fault", "ended"))
    return ended_s - fault_s


LINKS = ["mpirun", "-np", 4, sys.executable, PROGRAMS / "over_links.py"]


@pytest.fixture(scope="module")
def compiled():
    """The first compilation may take longer than the short deadlines of this file."""
    ended = launch_on_hosts(2, *LINKS, 0.1, limit_s=200)
    assert ended.rc == 0 and "done" in ended.output, ended.output


def test_a_pe_of_another_host_fails(compiled):
    command = ["mpirun", "-np", 4, sys.executable, PROGRAMS / "struck.py", "collective", "raise", 3]
    ended = launch_on_hosts(2, *STRUCK, "none", *command, PENNYMPI_TIMEOUT_S=str(TIMEOUT_S))
    assert ended.rc != 0 and "ValueError" in ended.output and "left on" not in ended.output, ended.output
    assert re.search(r"PE 3\b.* on host1", ended.output), ended.output
    assert seconds_to_the_end(ended.output) < TIMEOUT_S + MORE_S


def test_a_pe_that_leaves_while_others_meet_does_not_keep_itself_alive(compiled):
    """A PE waits for the others at its exit, and each side forwards the other side's signs of life."""
    command = ["mpirun", "-np", 3, sys.executable, PROGRAMS / "struck.py", "gather", "exit0", 2]
    ended = launch_on_hosts(3, *STRUCK, "none", *command, PENNYMPI_TIMEOUT_S=str(TIMEOUT_S))
    assert ended.rc != 0 and re.search(r"PE 2\b.*host2", ended.output), ended.output
    assert seconds_to_the_end(ended.output) < TIMEOUT_S + 1.5


@pytest.mark.slow
def test_a_link_that_comes_back_is_waited_for(compiled):
    ended = launch_on_hosts(2, *STRUCK, "down-2", *LINKS, 3, PENNYMPI_TIMEOUT_S="10")
    assert ended.rc == 0 and ", 0 elements wrong" in ended.output, ended.output


@pytest.mark.slow
def test_a_link_that_is_gone_ends_the_job(compiled):
    if MPI.get_vendor()[0] == "Open MPI":  # it waits for the host until TCP gives up after 15 minutes
        pytest.skip("Open MPI's mpirun does not end while it can't reach a host")
    ended = launch_on_hosts(2, *STRUCK, "down", *LINKS, 30, PENNYMPI_TIMEOUT_S=str(TIMEOUT_S))
    assert ended.rc != 0 and "left on" not in ended.output, ended.output
    assert seconds_to_the_end(ended.output) < TIMEOUT_S + MORE_S
    text = r"PeerTimeout: PE [01] waited 4 s for PE [23] on host1|PE [01] \(process .*\) waits for PE [23];"
    assert re.search(text, ended.output), ended.output


def test_a_pe_that_compiles_is_alive_for_other_hosts():
    ended = launch_on_hosts(
        2, "mpirun", "-np", 4, sys.executable, PROGRAMS / "small.py", "compiling", PENNYMPI_TIMEOUT_S="3"
    )
    assert ended.rc == 0 and "done" in ended.output, ended.output
