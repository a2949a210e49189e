"""Whatever happens to one rank, the job ends: in time, non-zero, with one message, and leaves nothing."""

import random

import pytest
from launch import TRACEBACK, launch, run_program
from pooled_jobs import job
from settled import settled

LONG_S, SHORT_S = 20, 2.0  # deadlines: one that is not meant to pass, and one that is
COMPILED_S = 100


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Compiles what the jobs need, for which their deadlines are too short on busy cores, and never finalizes."""
    return run_program(4, "small", "forgetful", timeout_s=COMPILED_S, limit_s=120)


def assert_fails(ended, seconds, *messages, tracebacks=1):
    assert ended.rc != 0 and "done" not in ended.output.split(), ended.output
    assert ended.since("fault") < seconds, ended.output
    for message in messages:
        assert message in ended.output, ended.output
    assert ended.output.count(TRACEBACK) == tracebacks, ended.output


@pytest.mark.parametrize(
    "message",
    [
        pytest.param("ZeroDivisionError", marks=job(2, "struck collective thread 0", LONG_S)),
        pytest.param("ValueError: broken on PE", marks=job(4, "small all_raise", LONG_S)),
        pytest.param("ValueError: broken in one half", marks=job(4, "small halves", LONG_S)),
    ],
)
def test_an_exception_ends_the_job_with_one_traceback(ended, message):
    assert_fails(ended, 4, message)
    assert ended.output.count("ended the job") == 1, ended.output


@pytest.mark.parametrize(
    "where",
    [
        pytest.param(
            where, marks=job(random.choice((2, 4)), f"struck {where} {random.choice(('exit0', 'exit3'))} 1", LONG_S)
        )
        for where in ("waiting", "collective", "init", "empty")
    ],
)
def test_a_rank_that_leaves_ends_those_who_wait_for_it(ended, where):
    assert_fails(ended, 4, tracebacks=0)
    (line,) = [line for line in ended.output.splitlines() if line.startswith("pennympi:")]
    assert line.startswith("pennympi: PE 1 left the program while others wait for it: PE "), ended.output


@pytest.mark.parametrize(
    "where",
    [
        pytest.param("collective", marks=job(4, "struck collective SIGKILL 2", LONG_S)),
        pytest.param("computing", marks=job(2, "struck computing _exit3 1", LONG_S)),
    ],
)
def test_a_rank_that_dies_is_the_launcher_s(ended, where):
    assert ended.rc != 0 and ended.since("fault") < 5, ended.output


@job(2, "struck collective none 0", LONG_S, act=("fault", lambda mpirun: mpirun.kill()))
def test_killing_mpirun_ends_every_rank(ended):
    assert ended.rc == -9, ended.output


@job(4, "struck collective SIGSTOP 3", SHORT_S)
def test_a_stopped_rank_is_named_by_those_who_wait(ended):
    assert_fails(ended, SHORT_S + 3, "is stopped after allreduce of 100 float32, sum, by one_shot (call ")
    assert ended.output.count("PeerTimeout: PE ") == 1
    (stopped,) = [line for line in ended.output.splitlines() if line.startswith("pennympi:") and "is stopped" in line]
    assert " PE 3 (process " in stopped


@pytest.mark.parametrize(
    "loop",
    [
        pytest.param(loop, marks=job(4, f"struck {loop} SIGSTOP {random.randrange(4)}", SHORT_S))
        for loop in ("between", "gather", "empty")
    ],
)
def test_a_pe_that_is_stopped_in_a_meeting_is_named(ended, loop):
    """Between its messages, in MPI, between two meetings: the others end in time, with one message."""
    assert_fails(ended, SHORT_S + 3, "PeerTimeout: PE ")
    assert " is stopped" in ended.output or " has not come" in ended.output, ended.output


@pytest.mark.parametrize(
    ("call", "message"),
    [
        pytest.param(
            "ring", "PeerTimeout: PE 0 waited 1 s for PE 1 in allreduce (ring)", marks=job(2, "small skewed asleep", 1)
        ),
        pytest.param("plain sweep", " for PE 1 in ", marks=job(2, "small alone_in_sweeps plain", 1)),
        pytest.param("resident sweep", " for PE 1 in ", marks=job(2, "small alone_in_sweeps resident", 1)),
        pytest.param("init", " for PE 1 in init: PE 1 has not come", marks=job(4, "small uninvited", SHORT_S)),
    ],
)
def test_a_rank_that_does_not_come_is_named(ended, call, message):
    assert_fails(ended, SHORT_S + 3, message)


@job(2, "small different_waits", SHORT_S)
def test_different_waits_are_both_named(ended):
    """No message of one call reaches the other, so both wait until the time is over."""
    assert_fails(ended, SHORT_S + 3, "PeerTimeout: PE ", "broadcast (call ", "reduce (call ")


@pytest.mark.parametrize(
    ("of_last", "of_others"),
    [
        pytest.param("gather", "free of symmetric array 0", marks=job(2, "small different_meetings gather", LONG_S)),
        pytest.param(
            "free of symmetric array 1",
            "free of symmetric array 0",
            marks=job(4, "small different_meetings free", LONG_S),
        ),
    ],
)
def test_pes_that_make_different_set_up_calls_are_told_both(ended, of_last, of_others):
    assert_fails(ended, 6, "CollectiveMismatchError: ", f" in {of_last} (call ", f" in {of_others} (call ")


@pytest.mark.parametrize(
    "what",
    [
        pytest.param("the job was suspended", marks=job(4, "suspended", SHORT_S)),
        pytest.param("a PE compiles", marks=job(2, "small compiling", 1)),
        pytest.param("a PE is busy on another team", marks=job(4, "small skewed busy", 1)),
        pytest.param("a PE ends late", marks=job(2, f"small forgetful 0 {0.7 * SHORT_S}", SHORT_S)),
    ],
)
def test_no_false_alarm(ended, what):
    """Among four PEs round a ring, most wait for one that waits itself."""
    assert ended.rc == 0 and "done" in ended.output and "pennympi:" not in ended.output, ended.output


def test_a_program_that_never_finalizes_ends_well(compiled):
    assert compiled.rc == 0 and "done" in compiled.output and "the job" not in compiled.output, compiled.output


@job(2, "small forgetful 3", LONG_S)
def test_a_status_that_all_ranks_agree_on_is_kept(ended):
    assert ended.rc == 3 and "pennympi:" not in ended.output, ended.output


@pytest.mark.parametrize(
    "level", [pytest.param(n, marks=job(n, words, LONG_S)) for n, words in ((2, "stuck"), (4, "stuck serialized"))]
)
def test_a_wait_that_the_main_thread_cannot_end_is_ended_by_the_monitor(ended, level):
    """With one message, also where MPI may not be called from the monitor's thread."""
    assert_fails(ended, 5, "in main", "PeerTimeout: PE ")
    assert ended.output.count("ended the job") == 1, ended.output


@job(2, "small forgetful", "soon")
def test_a_setting_that_cannot_be_read_is_one_error(ended):
    assert ended.rc != 0 and ended.output.count(TRACEBACK) == 1, ended.output
    assert "PENNYMPI_TIMEOUT_S='soon' cannot be used" in ended.output


@job(2, "small forking", LONG_S)
def test_a_forked_child_has_no_place_in_the_job(ended):
    """Its calls are refused, and its end is not the job's."""
    assert ended.rc == 0 and ended.output.count("child refused 4") == 2, ended.output
    assert ended.output.count("child ended with 3, {True}") == 2, ended.output


OWN = """
import os, sys, threading, time
from mpi4py import MPI
import pennympi
def own(kind, value, trace):
    print("own hook:", value, flush=True)
    time.sleep(0.2)
    MPI.COMM_WORLD.Abort(7)
sys.excepthook = own
before = sys.excepthook, threading.excepthook, sys.exit, os._exit
with pennympi.init(heap_bytes=64 << 20) as team:
    assert before == (sys.excepthook, threading.excepthook, sys.exit, os._exit)
    team.synchronize()
    if team.me == 1:
        raise ValueError("broken")
    team.barrier()
    team.synchronize()
"""


def test_without_hooks_the_programs_own_one_ends_the_job():
    ended = launch(2, "-c", OWN, env=settled(2, PENNYMPI_EXIT_HOOKS="0"), limit_s=100)
    assert ended.rc not in (0, None), ended.output
    assert ended.output.count("own hook: broken") == 1 and "pennympi: PE 1 of 2 ended the job" not in ended.output
    assert not ended.left_in_shm and not ended.left_alive
