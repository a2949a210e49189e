"""PENNYMPI_EXIT_HOOKS=0: a program that ends its job by its own means keeps them."""

import pytest
from launch import launch
from mpi4py import MPI
from settled import settled

if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("these tests start their own jobs: run them without mpirun", allow_module_level=True)

HOOKS = """
import os, sys, threading
import pennympi
def hooks():
    return sys.excepthook, threading.excepthook, sys.exit, os._exit
before = hooks()
team = pennympi.init(heap_bytes=1 << 20)
print("replaced", sum(a is not b for a, b in zip(before, hooks())))
team.finalize()
"""
OWN = """
import sys, time
from mpi4py import MPI
import pennympi
def own(kind, value, trace):
    print("own hook:", value, flush=True)
    time.sleep(0.2)
    MPI.COMM_WORLD.Abort(7)
sys.excepthook = own
with pennympi.init(heap_bytes=64 << 20) as team:
    x = team.full(100, 1)
    team.allreduce(x)
    team.synchronize()
    if team.me == 1:
        raise ValueError("broken")
    team.barrier()
    team.synchronize()
"""
KILLED = OWN.replace('raise ValueError("broken")', "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")


@pytest.mark.parametrize(("value", "replaced"), [("1", 4), ("0", 0), ("", 4)])
def test_which_hooks_are_replaced(value, replaced):
    ended = launch(1, "-c", HOOKS, env=settled(1, PENNYMPI_EXIT_HOOKS=value), limit_s=60)
    assert ended.rc == 0 and f"replaced {replaced}\n" in ended.output, ended.output


def test_the_programs_own_hook_ends_the_job():
    ended = launch(2, "-c", OWN, env=settled(2, PENNYMPI_EXIT_HOOKS="0"), limit_s=100)
    assert ended.rc not in (0, None), ended.output
    assert ended.output.count("own hook: broken") == 1 and "pennympi: PE 1 of 2 ended the job" not in ended.output
    assert not ended.left_in_shm and not ended.left_alive


def test_a_pe_that_is_killed_ends_the_job_nevertheless():
    ended = launch(2, "-c", KILLED, env=settled(2, PENNYMPI_EXIT_HOOKS="0"), limit_s=100)
    assert ended.rc not in (0, None) and ended.seconds < 60, ended.output
    assert not ended.left_in_shm and not ended.left_alive
