"""Every end of a process is seen, named and quick, wherever the others are; a job that was suspended goes on."""

import os
import random
import resource
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from launch import ROOT, TRACEBACK, run_program
from mpi4py import MPI

from pennympi.job.lifeline import how_it_ended, lifeline_of
from pennympi.job.process import process_state

if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("these tests start their own jobs: run them without mpirun", allow_module_level=True)

TIMEOUT_S = 4.0
ROTATION = random.randrange(100)  # other pairs of a place and a fault in each run; all pairs are in the scorecard
PLACES = ["collective", "empty", "init", "gather", "mpi", "computing", "after"]
LEFT_IN = ["waiting", "collective", "gather", "init", "empty"]
HOW = {
    "SIGKILL": "was killed by signal 9 (SIGKILL)",
    "SIGSEGV": "was killed by signal 11 (SIGSEGV)",
    "SIGTERM": "was killed by signal 15 (SIGTERM)",
    "_exit0": "left the program by os._exit(0)",
    "_exit3": "left the program by os._exit(3)",
}
run = partial(run_program, timeout_s=TIMEOUT_S)


@pytest.fixture(scope="module", autouse=True)
def compiled_kernels():
    """Compiling for the first time may take longer than the short deadlines here."""
    run(2, "struck", "waiting", "exit3", 1, timeout_s=100)


def assert_one_line(ended, seconds, *texts):
    lines = [line for line in ended.output.splitlines() if line.startswith("pennympi:")]
    assert ended.rc != 0 and len(lines) == 1, ended.output
    assert TRACEBACK not in ended.output, ended.output
    assert all(text in lines[0] for text in texts), ended.output
    assert ended.since("fault") < seconds, ended.output


@pytest.mark.parametrize("where", PLACES)
def test_a_death_is_named_at_once_wherever_the_others_are(where):
    turn = ROTATION + PLACES.index(where)
    fault, (n_pes, rank) = list(HOW)[turn % len(HOW)], ((2, 1), (4, 2))[turn % 2]
    ended = run(n_pes, "struck", where, fault, rank)
    if "pennympi:" not in ended.output:  # on busy cores the launcher may kill the others before one could speak: once
        ended = run(n_pes, "struck", where, fault, rank)
    assert_one_line(ended, 1, f"pennympi: PE {rank} ", HOW[fault])


@pytest.mark.parametrize("fault", ["SIGKILL", "SIGTERM", "_exit0"])
def test_a_death_between_two_teams_is_named(fault):
    """The program makes and ends teams: at most moments it has none, or waits in init for those who are gone."""
    for _ in range(3):  # here the launcher is often the faster one
        ended = run(2, "struck", "between", fault, 1)
        assert TRACEBACK not in ended.output, ended.output
        if "pennympi:" in ended.output:
            break
    assert ended.rc != 0 and ended.since("fault") < 1, ended.output
    assert ("os._exit(0)" if fault == "_exit0" else fault) in ended.output, ended.output


@pytest.mark.parametrize(("where", "n_pes"), [("mpi", 2), ("computing", 4)])
def test_a_stopped_rank_is_named_where_no_wait_of_the_library_has_a_deadline(where, n_pes):
    ended = run(n_pes, "struck", where, "SIGSTOP", 1)
    assert_one_line(ended, TIMEOUT_S + 2, "pennympi: PE 1 (process ", "is stopped after gather (call ")


def test_an_interrupt_ends_the_wait_of_a_kernel():
    ended = run(4, "struck", "waiting", "SIGINT", 0, timeout_s=30)
    assert ended.rc != 0 and ended.since("fault") < 2, ended.output
    assert ended.output.count(TRACEBACK) == 1 and "KeyboardInterrupt" in ended.output, ended.output
    assert "PeerTimeout" not in ended.output and "pennympi: PE 0 of" in ended.output, ended.output


@pytest.mark.parametrize("where", LEFT_IN)
def test_a_rank_that_leaves_ends_those_who_wait_for_it(where):
    turn = ROTATION + LEFT_IN.index(where)
    fault = ("exit0", "exit3")[turn % 2]
    ended = run((2, 4)[turn // 2 % 2], "struck", where, fault, 1)
    assert_one_line(ended, 2, "pennympi: PE 1 left the program ")
    assert ended.rc == (3 if fault == "exit3" else 1), ended.output


def test_a_rank_that_leaves_with_a_status_ends_those_in_calls_of_mpi():
    assert_one_line(run(2, "struck", "mpi", "exit3", 0), 2, "pennympi: PE 0 left the program with status 3")


def test_one_of_several_exceptions_is_printed():
    ended = run(4, "differ", "raise")
    assert ended.rc != 0 and ended.since("fault") < 2, ended.output
    assert ended.output.count(TRACEBACK) == 1 and ended.output.count("ended the job") == 1, ended.output


def test_different_calls_of_one_number_are_told_to_whoever_waits_in_them():
    ended = run(2, "differ", "calls", timeout_s=20)
    assert ended.rc != 0 and ended.since("fault") < 4, ended.output
    assert ended.output.count(TRACEBACK) == 1 and "CollectiveMismatchError: PE " in ended.output, ended.output
    assert "broadcast (call " in ended.output and "reduce (call " in ended.output, ended.output


@pytest.mark.parametrize(("where", "n_pes"), [("kernel", 2), ("gather", 4), ("mpi", 2)])
def test_a_job_that_was_suspended_goes_on(where, n_pes):
    ended = run(n_pes, "suspended", where, timeout_s=2)
    assert ended.rc == 0 and "done" in ended.output and "pennympi:" not in ended.output, ended.output
    assert ended.seconds > 4


def test_a_pe_that_compiles_is_waited_for():
    ended = run(2, "compiling", timeout_s=2)
    assert ended.rc == 0 and ended.output.count("done") == 2, ended.output


def held(how):
    """A process that holds a lifeline, and is told by a line of its input to end in some way."""
    without_mpi = "import mpi4py; mpi4py.rc.initialize = False"  # whose files a killed process leaves behind
    holds = "from pennympi.job import lifeline; line = lifeline.own_lifeline(); line.hold(); print(1); input()"
    code = f"{without_mpi}; {holds}; {how}"
    env = os.environ | {"PYTHONUNBUFFERED": "1", "PYTHONPATH": str(ROOT)}
    child = subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, stderr=-3, env=env, text=True)
    assert child.stdout.readline() == "1\n"
    return child


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("import os; os._exit(0)", ("left the program with status 0", 1)),
        ("import os; os._exit(5)", ("left the program with status 5", 5)),
        ("import os; os.kill(os.getpid(), 9)", ("was killed by signal 9 (SIGKILL)", 137)),
        ("import os; os.kill(os.getpid(), 40)", ("was killed by signal 40 (a real-time signal)", 168)),
    ],
)
def test_a_lifeline_tells_of_an_end_at_once(how, told):
    child = held(how)
    line = lifeline_of(child.pid)
    assert not line.ended(0.05) and child.poll() is None
    start = time.monotonic()
    child.stdin.write("\n")
    child.stdin.flush()
    assert line.ended(20) and time.monotonic() - start < 10
    assert how_it_ended(child.pid) == told  # nobody has waited for it yet
    child.wait()
    assert how_it_ended(child.pid) == ("has ended", 1) and lifeline_of(child.pid) is None


def test_a_lifeline_that_was_let_go_tells_of_no_end():
    child = held("line.let_go(); input()")
    line = lifeline_of(child.pid)
    child.stdin.write("\n")
    child.stdin.flush()
    assert not line.ended(2)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert not line.ended(0.1)


def test_a_process_without_a_lifeline():
    assert lifeline_of(os.getppid()) is None


def test_who_has_no_descriptors_takes_nobody_for_ended():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    os.close(lowest := os.dup(0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, before[1]))
    try:
        states = process_state(os.getpid()), process_state(1 << 22)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert states == ("?", "?") and process_state(1 << 22) == "X"


def test_without_a_launcher_no_segment_keeps_its_name():
    names = [f"{prefix}test{os.getpid()}" for prefix in ("mpich_shm_", "sm_segment.", "vader_segment.")]
    program = f"""
import mmap, mpi4py
mpi4py.rc.initialize = False
files = [open("/dev/shm/" + name, "wb+") for name in {names}]
maps = [file.truncate(4096) and mmap.mmap(file.fileno(), 4096) for file in files]
from pennympi.job import ending
ending.end_without_launcher()
"""
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, timeout=60)
    assert ended.returncode == 1 and not [name for name in names if Path("/dev/shm", name).exists()]
