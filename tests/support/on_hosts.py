"""Jobs between the hosts of tools/hosts.sh."""

import subprocess
from functools import cache

import pytest
from launch import ROOT, launch, mpirun

HOSTS = str(ROOT / "tools" / "hosts.sh")


@cache
def why_no_hosts():
    """What tools/hosts.sh says where it can't make a host, or ""."""
    message = subprocess.run([HOSTS, "1", "true"], capture_output=True, text=True, timeout=20)
    return "" if message.returncode == 0 else message.stderr or "?"


def launch_on_hosts(n_hosts, *command, limit_s=120, **env):
    """``launch`` of a command beside n_hosts hosts; "mpirun" is that of this Python.  Skips where there are no hosts.

    AllReduce is one algorithm, where auto would go by what it measures: short deadlines leave no time to compile.
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
