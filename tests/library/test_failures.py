"""Whatever happens to one rank, the job ends: in time, non-zero, with one message and nothing left behind."""

import random
from functools import partial

import pytest
from launch import TRACEBACK, launch, run_program
from mpi4py import MPI
from settled import settled

if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("these tests start their own jobs: run them without mpirun", allow_module_level=True)

TIMEOUT_S = 4.0
SHORT_S = 2.0  # where the test waits for it
ROTATION = random.randrange(100)  # other pairs of a place and a fault in each run
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
def never_finalized():
    """Two jobs, which also compile: for the first time that may take longer than the short deadlines here."""
    return [run(n_pes, "forgetful", timeout_s=100, limit_s=120) for n_pes in (2, 4)]


def assert_fails(ended, seconds, *messages, tracebacks=None):
    assert ended.rc != 0 and "done" not in ended.output.split(), ended.output
    assert ended.since("fault") < seconds, ended.output
    for message in messages:
        assert message in ended.output, ended.output
    if tracebacks is not None:
        assert ended.output.count(TRACEBACK) == tracebacks, ended.output


def assert_one_line(ended, seconds, *texts):
    assert_fails(ended, seconds, tracebacks=0)
    (line,) = [line for line in ended.output.splitlines() if line.startswith("pennympi:")]
    assert all(text in line for text in texts), ended.output


@pytest.mark.parametrize("where", PLACES)
def test_a_death_is_named_at_once_wherever_the_others_are(where):
    turn = ROTATION + PLACES.index(where)
    fault, (n_pes, rank) = list(HOW)[turn % len(HOW)], ((2, 1), (4, 2))[turn % 2]
    ended = run(n_pes, "struck", where, fault, rank)
    if "pennympi:" not in ended.output:  # on busy cores the launcher may kill the others before one could speak: once
        ended = run(n_pes, "struck", where, fault, rank)
    assert_one_line(ended, 1, f"pennympi: PE {rank} ", HOW[fault])


@pytest.mark.parametrize("fault", ["SIGKILL", "_exit0"])
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
    ended = run(n_pes, "struck", where, "SIGSTOP", 1, timeout_s=SHORT_S)
    assert_one_line(ended, SHORT_S + 2, "pennympi: PE 1 (process ", "is stopped after gather (call ")


def test_a_stopped_rank_is_named_by_those_who_wait():
    ended = run(4, "struck", "collective", "SIGSTOP", 3, timeout_s=SHORT_S)
    assert_fails(ended, SHORT_S + 2, "is stopped after allreduce of 100 float32, sum, by one_shot (call ", tracebacks=1)
    assert ended.output.count("PeerTimeout: PE ") == 1
    (stopped,) = [line for line in ended.output.splitlines() if line.startswith("pennympi:") and "is stopped" in line]
    assert " PE 3 (process " in stopped


@pytest.mark.parametrize("loop", ["init", "gather", "large gather", "empty"])
def test_a_pe_that_is_stopped_in_a_meeting_is_named(loop):
    """Between its messages, in MPI, between two meetings: the others end in time, with one message."""
    n_pes, after_s = random.choice([2, 4]), random.uniform(0, 0.3)
    rank = random.randrange(n_pes)
    ended = run(n_pes, "stopped", loop, rank, after_s, timeout_s=SHORT_S)
    what = f"{n_pes} PEs, rank {rank} after {after_s} s:\n{ended.output}"
    assert ended.rc != 0 and ended.since("fault") < SHORT_S + 2, what
    by_who_waits, by_the_watch = (ended.output.count(words) for words in ("PeerTimeout: PE ", "; the job ends"))
    assert by_who_waits + by_the_watch == 1 and ended.output.count(TRACEBACK) == by_who_waits, what
    assert " is stopped" in ended.output, what


def test_an_interrupt_ends_the_wait_of_a_kernel():
    ended = run(4, "struck", "waiting", "SIGINT", 0, timeout_s=30)
    assert_fails(ended, 2, "KeyboardInterrupt", "pennympi: PE 0 of", tracebacks=1)
    assert "PeerTimeout" not in ended.output, ended.output


def test_killing_mpirun_ends_every_rank():
    ended = run(4, "struck", "collective", "none", 0, act=("fault", lambda mpirun: mpirun.kill()))
    assert ended.rc == -9, ended.output


@pytest.mark.parametrize("where", LEFT_IN)
def test_a_rank_that_leaves_ends_those_who_wait_for_it(where):
    turn = ROTATION + LEFT_IN.index(where)
    fault = ("exit0", "exit3")[turn % 2]
    ended = run((2, 4)[turn // 2 % 2], "struck", where, fault, 1)
    last = {"collective": "last entered allreduce of 100 float32, sum, by one_shot (call "}.get(where, "")
    assert_one_line(ended, 2, "pennympi: PE 1 left the program ", last)
    assert ended.rc == (3 if fault == "exit3" else 1), ended.output


def test_a_rank_that_leaves_with_a_status_ends_those_in_calls_of_mpi():
    assert_one_line(run(2, "struck", "mpi", "exit3", 0), 2, "pennympi: PE 0 left the program with status 3")


@pytest.mark.parametrize(
    ("n_pes", "words", "message"),
    [
        (4, "struck collective raise 3", "ValueError: broken on purpose"),
        (2, "struck collective thread 0", "ZeroDivisionError"),
        (4, "small all_raise", "ValueError: broken on PE"),
        (4, "small halves", "ValueError: broken in one half"),
    ],
)
def test_an_exception_ends_the_job_with_one_traceback(n_pes, words, message):
    ended = run(n_pes, *words.split())
    assert_fails(ended, 3, message, tracebacks=1)
    named = ended.output.count(f"of {n_pes} ended the job")
    assert named == 1, ended.output


def test_different_calls_of_one_number_are_told_to_whoever_waits_in_them():
    ended = run(2, "small", "different_waits", timeout_s=20)
    assert_fails(ended, 4, "CollectiveMismatchError: PE ", "broadcast (call ", "reduce (call ", tracebacks=1)


@pytest.mark.parametrize(
    ("n_pes", "kind", "of_last", "of_others"),
    [
        (2, "a gather more", "gather", "finalize"),
        (4, "an empty more", "empty", "finalize"),
        (4, "free in another order", "free of symmetric array 1", "free of symmetric array 0"),
        (2, "gather against empty", "gather", "empty"),
    ],
)
def test_pes_that_make_different_set_up_calls_are_told_both(n_pes, kind, of_last, of_others):
    ended = run(n_pes, "different_meetings", kind, timeout_s=20)
    assert_fails(ended, 6, "CollectiveMismatchError: ", tracebacks=1)
    assert f"PE {n_pes - 1} in {of_last} (call " in ended.output, ended.output
    assert f"PE {n_pes - 2} in {of_others} (call " in ended.output, ended.output


def test_a_job_that_was_suspended_goes_on():
    ended = run(4, "suspended", timeout_s=SHORT_S)
    assert ended.rc == 0 and "done" in ended.output and "pennympi:" not in ended.output, ended.output
    assert ended.seconds > 2 * SHORT_S


def test_a_pe_that_compiles_is_waited_for():
    ended = run(2, "small", "compiling", timeout_s=1)
    assert ended.rc == 0 and ended.output.count("done") == 2, ended.output


def test_a_slow_rank_is_no_false_alarm():
    ended = run(2, "skewed", "late", timeout_s=SHORT_S)
    assert ended.rc == 0 and "done" in ended.output, ended.output


def test_a_rank_that_is_busy_on_another_team_is_no_false_alarm():
    """Among four PEs round a ring, most wait for one that waits itself."""
    ended = run(4, "skewed", "busy", timeout_s=1)
    assert ended.rc == 0 and "done" in ended.output, ended.output


def test_a_rank_that_does_nothing_is_given_up():
    ended = run(2, "skewed", "asleep", timeout_s=1)
    assert_fails(ended, 3, "PeerTimeout: PE 0 waited 1 s for PE 1 in allreduce (ring)", tracebacks=1)


def test_a_program_that_never_finalizes_ends_well(never_finalized):
    for ended in never_finalized:
        assert ended.rc == 0 and "pennympi:" not in ended.output, ended.output


def test_a_late_end_is_waited_for():
    ended = run(2, "forgetful", 0, 0.7 * SHORT_S, timeout_s=SHORT_S)
    assert ended.rc == 0 and "done" in ended.output, ended.output


def test_a_status_that_all_ranks_agree_on_is_kept():
    ended = run(2, "forgetful", 3)
    assert ended.rc == 3 and "pennympi:" not in ended.output, ended.output


def test_a_wait_that_the_main_thread_cannot_end_is_ended_by_the_watch():
    ended = run(2, "stuck")
    assert_fails(ended, 5, "in main", "PeerTimeout: PE 1 waited", "pennympi: PE 1 of 2 ended the job", tracebacks=1)


@pytest.mark.parametrize("thread_level", ["serialized", "multiple"])
def test_watches_that_end_the_job_at_once_print_one_message(thread_level):
    """Also where MPI may not be called from the watch's thread."""
    ended = run(4, "stuck", thread_level)
    assert_fails(ended, 5, "in main", tracebacks=1)
    for once in ("PeerTimeout: PE ", "ended the job"):
        assert ended.output.count(once) == 1, ended.output


def test_a_rank_that_does_not_come_to_init_is_named():
    ended = run(4, "small", "uninvited", timeout_s=SHORT_S)
    assert ended.rc != 0 and ended.output.count(TRACEBACK) == 1, ended.output
    assert "for PE 1 in init" in ended.output and ended.seconds < SHORT_S + 6, ended.output


def test_a_setting_that_cannot_be_read_is_one_error():
    ended = run(2, "forgetful", timeout_s="soon")
    assert ended.rc != 0 and ended.output.count(TRACEBACK) == 1, ended.output
    assert "PENNYMPI_TIMEOUT_S='soon' cannot be used" in ended.output


@pytest.mark.parametrize(("way", "status"), [("exit", 3), ("raise", 1)])
def test_a_forked_child_has_no_place_in_the_job(way, status):
    """Its calls are refused, and its end is not the job's."""
    ended = launch(2, "tests/support/programs/forking.py", way, limit_s=120, env=settled(2, PENNYMPI_BACKEND="host"))
    assert ended.rc == 0 and not ended.left_alive, ended.output
    assert ended.output.count("child refused 5") == 2
    assert ended.output.count(f"child ended with {status}, {{True}}") == 2
    assert ended.output.count("in the child") == (4 if way == "raise" else 0)  # the line of the source, and the error
    assert "Abort" not in ended.output and "Fatal" not in ended.output


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


@pytest.mark.parametrize(("value", "replaced"), [("1", 4), ("0", 0)])
def test_which_hooks_are_replaced(value, replaced):
    ended = launch(1, "-c", HOOKS, env=settled(1, PENNYMPI_EXIT_HOOKS=value), limit_s=60)
    assert ended.rc == 0 and f"replaced {replaced}\n" in ended.output, ended.output


def test_without_hooks_the_programs_own_one_ends_the_job():
    ended = launch(2, "-c", OWN, env=settled(2, PENNYMPI_EXIT_HOOKS="0"), limit_s=100)
    assert ended.rc not in (0, None), ended.output
    assert ended.output.count("own hook: broken") == 1 and "pennympi: PE 1 of 2 ended the job" not in ended.output
    assert not ended.left_in_shm and not ended.left_alive


def test_without_hooks_a_pe_that_is_killed_ends_the_job_nevertheless():
    ended = launch(2, "-c", KILLED, env=settled(2, PENNYMPI_EXIT_HOOKS="0"), limit_s=100)
    assert ended.rc not in (0, None) and ended.seconds < 60, ended.output
    assert not ended.left_in_shm and not ended.left_alive
