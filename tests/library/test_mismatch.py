"""Calls that differ among the PEs, in release mode: the job ends with both calls named."""

import re
from pathlib import Path

import pytest
from launch import launch
from mpi4py import MPI

if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("these tests start their own jobs: run them without mpirun", allow_module_level=True)

PROGRAM = str(Path(__file__).resolve().parents[1] / "support" / "programs" / "mismatched.py")
TOLD = r"CollectiveMismatchError: PE \d is in (.*); PE \d sent for (.*): every PE must make the same calls"
CASES = [  # what differs, PEs, and what the two calls are in words
    ("count", 2, {"allreduce of 240 float32, sum, by ring", "allreduce of 232 float32, sum, by ring"}),
    ("order", 2, {"reduce_scatter of 2 x 120 float32, sum, by ring", "reduce_scatter of 2 x 120 float32, max, by ring"}),
    ("plan and eager", 2, {"allreduce of 240 float32, sum, by ring", "allreduce of 240 float32, sum, by ring, plan 1"}),
    ("counts", 3, {"all_gatherv of 3 + 3 + 3 float32, by pairwise", "all_gatherv of 4 + 3 + 3 float32, by pairwise"}),
    ("exchange", 2, {f"exchange of {n} float32 between PEs 0 and 1, by put_signal" for n in (10, 11)}),
]


def run(what, n_pes, timeout_s):
    env = {"PENNYMPI_TIMEOUT_S": str(timeout_s), "PENNYMPI_BACKEND": "host"}
    ended = launch(n_pes, PROGRAM, what, env=env, limit_s=400)
    assert ended.rc is not None, f"hangs:\n{ended.output}"
    assert ended.rc != 0 and "done" not in ended.output.split(), ended.output
    return ended.output


@pytest.mark.parametrize("what, n_pes, calls", CASES)
def test_another_call_is_told(what, n_pes, calls):
    output = run(what, n_pes, timeout_s=300)
    told = re.search(TOLD, output)
    assert told and set(told.groups()) == calls, output


@pytest.mark.parametrize(
    "what, n_pes, text",
    [
        ("another count", 3, "CollectiveMismatchError: in all_to_allv .* PE 2 takes 6 elements from PE 0, which sends 5"),
        (
            "no such place",
            2,
            "CountError: .* part 1 of out of PE 1 has 5 elements from element -2305843009213693952 on, by ",
        ),
    ],
)
def test_another_count_is_told(what, n_pes, text):
    """By who counts on another one, or by who takes a part to a place outside its array."""
    output = run(what, n_pes, timeout_s=300)
    assert re.search(text, output), output


def test_another_algorithm_ends_with_both_calls_named():
    """Their messages lie in other memory, so that no PE sees one: who waits is told when the time is over, or before."""
    output = run("algorithm", 2, timeout_s=15)
    assert "allreduce of 240 float32, sum, by ring" in output, output
    assert "allreduce of 240 float32, sum, by one_shot" in output, output


def test_a_call_that_has_to_be_set_up_first_is_told():
    """The last PE waits in a set-up for the first, which waits in a kernel: their last calls have different numbers."""
    output = run("set-up", 2, timeout_s=60)
    told = [line for line in output.splitlines() if "CollectiveMismatchError: PE" in line]  # by one of both
    assert len(told) == 1 and "reduce of 240 float32, sum, root 0, by direct" in told[0], output
    assert "allreduce of 240 float32, sum, by ring" in told[0], output
