"""Plans keep their arrays alive; the bound of ``sms``."""

import numpy as np
import pytest
from on_device import device, same
from refused import refused

import pennympi

pytestmark = [pytest.mark.mpi, pytest.mark.hosts(most_pes=8)]


def test_a_plan_keeps_its_arrays(team):
    """The caller may drop the arrays of a plan."""
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
