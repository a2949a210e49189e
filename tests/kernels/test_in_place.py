"""MPI.IN_PLACE as x, as mpi4py has it: the same bits as the call that names its array twice, eager and planned."""

import numpy as np
import pytest
from mpi4py import MPI
from on_device import device, same

pytestmark = pytest.mark.mpi
PART = 5


def mine(team, parts=1):
    """This PE's numbers, (parts * PART,)."""
    return np.arange(parts * PART, dtype=np.float32) + 100 * team.me


def everyone(team, parts=1):
    """Those of all PEs, (n_pes, parts * PART)."""
    return np.stack([np.arange(parts * PART, dtype=np.float32) + 100 * pe for pe in range(team.n_pes)])


def calls(team, name, x, **more):
    """The results of a call and of a plan, on arrays that begin as x: [(what it returned, its array), ...]."""
    eager, planned = device(team, x), device(team, x)
    returned = getattr(team, name)(MPI.IN_PLACE, eager, **more)
    plan = getattr(team, f"plan_{name}")(MPI.IN_PLACE, planned, **more)
    plan()
    team.synchronize()
    return returned, eager, planned


def test_allreduce(team):
    total = everyone(team).sum(axis=0)
    returned, eager, planned = calls(team, "allreduce", mine(team), op=MPI.SUM)
    assert returned is eager and same(eager, total) and same(planned, total)
    x, residual = device(team, mine(team)), device(team, np.ones(PART, np.float32))
    team.allreduce(MPI.IN_PLACE, x, residual=residual)
    team.synchronize()
    assert same(x, total + 1)


def test_reduce(team):
    """At the root, as MPI has it; elsewhere x is the array itself."""
    for root in {0, team.n_pes - 1}:
        total = everyone(team).max(axis=0)
        x = device(team, mine(team))
        at_root = team.me == root
        returned = team.reduce(MPI.IN_PLACE if at_root else x, x if at_root else None, op=MPI.MAX, root=root)
        team.synchronize()
        assert same(x, total if at_root else mine(team)) and (returned is x if at_root else returned is None)
        _, eager, planned = calls(team, "reduce", mine(team), op="max", root=root)
        assert same(eager, total if at_root else mine(team)) and same(planned, total if at_root else mine(team))


def test_all_to_all(team):
    parts = everyone(team, team.n_pes).reshape(team.n_pes, team.n_pes, PART)[:, team.me].reshape(-1)
    returned, eager, planned = calls(team, "all_to_all", mine(team, team.n_pes))
    assert returned is eager and same(eager, parts) and same(planned, parts)


def test_all_gather(team):
    """Each PE's part lies in its place of out."""
    x = np.full((team.n_pes, PART), -1, np.float32)
    x[team.me] = mine(team)
    returned, eager, planned = calls(team, "all_gather", x)
    assert returned is eager and same(eager, everyone(team)) and same(planned, everyone(team))
