"""Calls that differ among the PEs, in release mode: the job ends with both calls named."""

import re

import pytest
from pooled_jobs import job

LONG_S = 100
RING, ONE_SHOT = (f"allreduce of 240 float32, sum, by {name}" for name in ("ring", "one_shot"))
SCATTER = "reduce_scatter of 2 x 120 float32, {}, by ring"
GATHER = "all_gatherv of {} + 3 + 3 float32, by pairwise"
EXCHANGE = "exchange of {} float32 between PEs 0 and 1, by put_signal"


@pytest.mark.parametrize(
    "calls",
    [
        pytest.param({RING, RING.replace("240", "232")}, marks=job(2, "mismatched count", LONG_S)),
        pytest.param({SCATTER.format("sum"), SCATTER.format("max")}, marks=job(2, "mismatched order", LONG_S)),
        pytest.param({RING, f"{RING}, plan 1"}, marks=job(2, "mismatched plan_and_eager", LONG_S)),
        pytest.param({GATHER.format(3), GATHER.format(4)}, marks=job(3, "mismatched counts", LONG_S)),
        pytest.param({EXCHANGE.format(10), EXCHANGE.format(11)}, marks=job(2, "mismatched exchange", LONG_S)),
    ],
    ids=["count", "order", "plan", "counts", "exchange"],
)
def test_a_message_of_another_call_is_told(ended, calls):
    assert ended.rc != 0, ended.output
    told = re.search(r"CollectiveMismatchError: PE \d is in (.*); PE \d sent for (.*): every PE must", ended.output)
    assert told and set(told.groups()) == calls, ended.output


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "CollectiveMismatchError: in all_to_allv .* PE 2 takes 6 elements from PE 0, which sends 5",
            marks=job(3, "mismatched another_count", LONG_S),
        ),
        pytest.param(
            "CountError: .* part 1 of out of PE 1 has 5 elements from element -2305843009213693952 on, by ",
            marks=job(2, "mismatched no_such_place", LONG_S),
        ),
    ],
    ids=["count", "topology"],
)
def test_another_count_is_told(ended, text):
    """A receiver that expects another count raises, or a receiver that would write outside its array."""
    assert ended.rc != 0 and re.search(text, ended.output), ended.output


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(ONE_SHOT, marks=job(2, "mismatched algorithm", 3)),
        pytest.param(r"PE 1 \(process \d+\) waits in .* \(call 26\)", marks=job(2, "mismatched set_up", 3)),
    ],
    ids=["algorithm", "set-up"],
)
def test_calls_that_see_no_message_of_one_another_are_named_when_the_time_is_over(ended, other):
    """Their messages lie in other memory, or one of them has to be set up first."""
    assert ended.rc != 0 and "PeerTimeout: PE " in ended.output, ended.output
    assert RING in ended.output and re.search(other, ended.output), ended.output
