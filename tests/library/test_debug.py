"""PENNYMPI_DEBUG=1: PEs that disagree on an allreduce are told so, all of them, instead of hanging or mixing bytes."""

import numpy as np
import pytest
from mpi4py import MPI
from on_device import device, same, write

import pennympi
from pennympi import CollectiveMismatchError

pytestmark = pytest.mark.mpi


@pytest.fixture
def careful(monkeypatch):
    monkeypatch.setenv("PENNYMPI_DEBUG", "1")
    with pennympi.init() as team:
        if team.n_pes == 1:
            pytest.skip("one PE can't disagree")
        yield team


def refused(team, x, **named):
    """Every PE gets the error, which names what each asked for."""
    text = ""
    try:
        team.allreduce(x, **named)
    except CollectiveMismatchError as error:
        text = str(error)
    said = team.gather(text)
    assert all("PE 0" in one and f"PE {team.n_pes - 1}" in one for one in said), said


def test_disagreement(careful):
    team = careful
    odd = team.me == team.n_pes - 1
    x = device(team, np.ones(12, np.float32))
    refused(team, x, op="max" if odd else "sum")
    refused(team, x, algorithm="ring" if odd else "simple_ring")
    refused(team, x[:-1] if odd else x)
    refused(team, device(team, np.ones(12, np.float64 if odd else np.float32)))
    assert same(x, np.ones(12))
    team.allreduce(x)
    assert same(x, np.full(12, team.n_pes))


def test_values_of_a_loop(careful):
    """A loop whose value is not the same on all PEs, which end together by luck."""
    team = careful
    value = team.full(1, np.float32(team.me // (team.n_pes - 1)) / 3, "float32")
    for below in (1.0, 0.0):
        with pytest.raises(CollectiveMismatchError, match=f"value 0.0 after 1 runs; .*PE {team.n_pes - 1} value 0.333"):
            team.plan_loop(lambda stream: None, value, below, 1 if below == 0 else 10)()
    write(value, [0.5])
    team.plan_loop(lambda stream: None, value, 1.0)()
    team.free(value)


def test_another_collective(careful):
    """One PE is at a barrier, the others in an allreduce."""
    team = careful
    x = device(team, np.ones(12, np.float32))
    text = ""
    try:
        team.barrier() if team.me == 0 else team.allreduce(x)
    except CollectiveMismatchError as error:
        text = str(error)
    said = team.gather(text)
    assert all("barrier" in one and "allreduce" in one for one in said), said
    assert same(x, np.ones(12))
    team.allreduce(x)


def test_a_bad_argument_is_that_first(careful):
    for op in ("no_such", MPI.BAND):
        with pytest.raises(ValueError, match="use one of sum"):
            careful.allreduce(device(careful, np.ones(3)), op=op)


def test_plans_are_compared(careful):
    """Two plans of the same arrays in another order, and a plan where the others make an eager call; the team goes on."""
    team, odd = careful, careful.me == careful.n_pes - 1
    x = device(team, np.ones(12, np.float32))
    plans = [team.plan_allreduce(x) for _ in range(2)]
    for call in (plans[odd], plans[0] if odd else lambda: team.allreduce(x)):
        text = ""
        try:
            call()
        except CollectiveMismatchError as error:
            text = str(error)
        said = team.gather(text)
        assert all("plan 1" in one and "sum" in one for one in said), said
    assert same(x, np.ones(12))
    plans[0](), plans[1]()
    assert same(x, np.full(12, team.n_pes**2))
