"""Jobs whose PEs do not meet: they make different set-up calls, or one is stopped in the midst of one."""

import random
from functools import partial

import pytest
from launch import TRACEBACK, run_program
from mpi4py import MPI

if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("these tests start their own jobs: run them without mpirun", allow_module_level=True)

TIMEOUT_S = 2.0
run = partial(run_program, timeout_s=TIMEOUT_S)


@pytest.fixture(scope="module", autouse=True)
def compiled_kernels():
    for n_pes in (2, 4):
        ended = run(n_pes, "different_meetings", "no difference", timeout_s=100, limit_s=120)
        assert ended.rc == 0 and "done" in ended.output.split(), ended.output


@pytest.mark.parametrize(
    ("n_pes", "kind", "of_last", "of_others"),
    [
        (2, "a gather more", "gather", "finalize"),
        (4, "a gather less", "finalize", "gather"),
        (4, "an empty more", "empty", "finalize"),
        (2, "a plan more", "empty", "finalize"),
        (4, "free in another order", "free of symmetric array 1", "free of symmetric array 0"),
        (2, "gather against empty", "gather", "empty"),
    ],
)
def test_pes_that_make_different_calls_are_told_both(n_pes, kind, of_last, of_others):
    ended = run(n_pes, "different_meetings", kind, timeout_s=20)
    assert ended.rc != 0 and "done" not in ended.output.split(), ended.output
    assert ended.since("fault") < 6, ended.output
    assert ended.output.count("CollectiveMismatchError: ") == ended.output.count(TRACEBACK) == 1, ended.output
    assert f"PE {n_pes - 1} in {of_last} (call " in ended.output, ended.output
    assert f"PE {n_pes - 2} in {of_others} (call " in ended.output, ended.output


@pytest.mark.parametrize("loop", ["init", "gather", "large gather", "empty"])
def test_a_pe_that_is_stopped_at_any_moment_is_named(loop):
    """Between the messages of a meeting, in MPI, between two meetings: the others end in time, with one message."""
    n_pes, after_s = random.choice([2, 4]), random.uniform(0, 0.3)
    rank = random.randrange(n_pes)
    ended = run(n_pes, "stopped", loop, rank, after_s)
    told = f"{n_pes} PEs, rank {rank} after {after_s} s:\n{ended.output}"
    assert ended.rc != 0 and ended.since("fault") < TIMEOUT_S + 2, told
    by_who_waits, by_the_watch = (ended.output.count(words) for words in ("PeerTimeout: PE ", "; the job ends"))
    assert by_who_waits + by_the_watch == 1 and ended.output.count(TRACEBACK) == by_who_waits, told
    assert " is stopped" in ended.output, told
