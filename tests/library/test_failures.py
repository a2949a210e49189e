"""Whatever happens to one rank, the job ends: in time, non-zero, with one message and nothing left behind."""

from functools import partial

import pytest
from launch import TRACEBACK, run_program
from mpi4py import MPI

if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("these tests start their own jobs: run them without mpirun", allow_module_level=True)

TIMEOUT_S = 4.0
run = partial(run_program, timeout_s=TIMEOUT_S)


@pytest.fixture(scope="module", autouse=True)
def never_finalized():
    """Two jobs, which also compile: for the first time that may take longer than the short deadlines here."""
    return [run(n_pes, "forgetful", timeout_s=100, limit_s=120) for n_pes in (2, 4)]


def assert_fails(ended, seconds, *messages, tracebacks=None):
    assert ended.rc != 0, ended.output
    assert ended.since("fault") < seconds, ended.output
    assert "done" not in ended.output.split()
    for message in messages:
        assert message in ended.output, ended.output
    if tracebacks is not None:
        assert ended.output.count(TRACEBACK) == tracebacks, ended.output


def test_an_exception_on_one_rank_ends_the_job_with_its_traceback():
    ended = run(4, "faulty", "raise", 3)
    message = "pennympi: PE 3 of 4 ended the job"
    assert_fails(ended, 4, "ValueError: broken on purpose", message, tracebacks=1)


def test_an_exception_in_a_thread_ends_the_job():
    assert_fails(run(2, "faulty", "thread", 0), 4, "ZeroDivisionError", "pennympi: PE 0 of 2 ended", tracebacks=1)


def test_a_rank_that_leaves_while_others_wait_ends_the_job():
    ended = run(4, "faulty", "exit0", 1)
    # the team's own set-up makes calls too, so the number of this one is not asserted
    last = "last entered allreduce of 100 float32, sum, by one_shot (call "
    assert_fails(ended, 2, "pennympi: PE 1 left the program", last, tracebacks=0)


def test_a_stopped_rank_is_named_by_those_who_wait():
    ended = run(4, "faulty", "stop", 3)
    assert_fails(ended, TIMEOUT_S + 2, "is stopped after allreduce of 100 float32, sum, by one_shot (call ", tracebacks=1)
    errors = [line for line in ended.output.splitlines() if "PeerTimeout: PE " in line]
    assert len(errors) == 1
    stopped = [line for line in ended.output.splitlines() if line.startswith("pennympi:") and "is stopped" in line]
    assert len(stopped) == 1 and " PE 3 (process " in stopped[0]


def test_killing_mpirun_ends_every_rank():
    ended = run(4, "faulty", "none", 0, act=("fault", lambda mpirun: mpirun.kill()))
    assert ended.rc == -9, ended.output


def test_a_slow_rank_is_no_false_alarm():
    ended = run(2, "faulty", "slow", 1)
    assert ended.rc == 0 and "done" in ended.output, ended.output


def test_a_rank_that_is_busy_on_another_team_is_no_false_alarm():
    """Among four PEs round a ring, most wait for one that waits itself."""
    run(4, "skewed", "here", timeout_s=100, limit_s=120)  # compiles
    ended = run(4, "skewed", "busy", timeout_s=1)
    assert ended.rc == 0 and "done" in ended.output, ended.output


def test_a_rank_that_does_nothing_is_given_up():
    run(2, "skewed", "here", timeout_s=100, limit_s=120)
    ended = run(2, "skewed", "asleep", timeout_s=1)
    assert_fails(ended, 3, "PeerTimeout: PE 0 waited 1 s for PE 1 in allreduce (ring)", tracebacks=1)


def test_a_program_that_never_finalizes_ends_well(never_finalized):
    for ended in never_finalized:
        assert ended.rc == 0 and "pennympi:" not in ended.output, ended.output


def test_a_late_end_is_waited_for():
    ended = run(2, "forgetful", 0, 0.7 * TIMEOUT_S)
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


def test_a_job_of_some_ranks_ends_all():
    assert_fails(run(4, "halves"), 4, "ValueError: broken in one half", tracebacks=1)


def test_a_rank_that_does_not_come_to_init_is_named():
    ended = run(4, "uninvited")
    assert ended.rc != 0 and ended.output.count(TRACEBACK) == 1, ended.output
    assert "for PE 1 in init" in ended.output and ended.seconds < TIMEOUT_S + 6, ended.output


def test_a_setting_that_cannot_be_read_is_one_error():
    ended = run(2, "forgetful", timeout_s="soon")
    assert ended.rc != 0 and ended.output.count(TRACEBACK) == 1, ended.output
    assert "PENNYMPI_TIMEOUT_S='soon' cannot be used" in ended.output
