"""Plans: persistent calls on fixed arrays, beside one another and beside eager calls."""

import numpy as np
import pytest
from on_device import device, same
from refused import refused

import pennympi

pytestmark = [pytest.mark.mpi, pytest.mark.hosts(most_pes=8)]


def test_on_streams(team):
    """A plan follows the stream of each call; two plans on two streams do not disturb one another."""
    low, high = team.stream(), team.stream("high")
    x, y = team.full(2048, 1, "int64"), team.full(2048, 1, "int64")
    first, second = team.plan_allreduce(x), team.plan_allreduce(y, op="max")
    team.synchronize()
    for _ in range(20):
        first(low)
        second(high)
    event = low.record()
    high.wait_event(event)
    first(high)
    team.synchronize(high)
    assert same(y, np.ones(2048))
    with np.errstate(over="ignore"):
        assert same(x, np.full(2048, pow(team.n_pes, 21, 1 << 64), np.uint64).view(np.int64))


def test_a_plan_keeps_its_arrays(team):
    """The caller may drop them."""
    out = team.zeros(64, "float32")
    plan = team.plan_allreduce(device(team, np.ones(64, np.float32)), out)
    rest = [device(team, np.full(64, 9, np.float32)) for _ in range(20)]
    plan()
    assert same(out, np.full(64, team.n_pes)) and len(rest) == 20


def test_sms_is_checked(team):
    x = team.zeros(16, "float32")
    for sms, error in ((0, ValueError), (-1, ValueError), (1.0, TypeError), (True, TypeError)):
        refused(error, "sms", team.allreduce, x, sms=sms)
        refused(error, "sms", team.explain, 64, sms=sms)


def test_sms_bounds_the_blocks(team):
    most = team._backend.max_blocks
    assert team.explain(64 << 20, sms=3).plan.blocks <= 3
    assert team.explain(64 << 20, sms=10 * most).plan.blocks <= most
    with pennympi.init(team.comm, sms=2) as narrow:
        assert narrow.explain(64 << 20).plan.blocks <= 2
        x = device(narrow, np.arange(1 << 18, dtype="i8") + narrow.me)
        assert same(narrow.allreduce(x), np.arange(1 << 18) * narrow.n_pes + sum(range(narrow.n_pes)))
