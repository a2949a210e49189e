"""What a team, a stream and a plan say of themselves."""

import numpy as np
import pytest
from on_device import device

import pennympi

pytestmark = pytest.mark.mpi


def test_team(team):
    assert (team.rank, team.size) == (team.me, team.n_pes)
    said = repr(team)
    assert said.startswith(f"<Team: PE {team.me} of {team.n_pes}, {team.backend} backend on ") and said.endswith(">")
    assert team.device_name in said
    other = pennympi.init()
    assert repr(other) == said
    other.finalize()
    assert repr(other) == f"{said[:-1]}, finalized>"


def test_stream(team):
    if team.backend == "host":
        assert repr(team.stream("high")) == "<stream of the host backend, priority 'high'>"


def test_plan(team):
    plan = team.plan_allreduce(device(team, np.ones(12, np.float32)), op="max", algorithm="ring")
    assert repr(plan).startswith("<function plan of allreduce of 12 float32, max, by ring, plan ")
    assert plan() is None
