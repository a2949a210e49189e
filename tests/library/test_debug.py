"""PENNYMPI_DEBUG=1: PEs whose calls differ get an error that names both calls, instead of a hang or mixed bytes."""

from dataclasses import replace

import numpy as np
import pytest
from collective_cases import CASES, Call
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


def refused(team, call, *words):
    """Check that every PE gets an error with these words."""
    text = ""
    try:
        call()
    except CollectiveMismatchError as error:
        text = str(error)
    texts = team.gather(text)
    assert all(word in one for word in words for one in texts), texts


@pytest.mark.parametrize("collective", CASES)
def test_disagreement(careful, collective):
    """PEs differ in the count, the dtype, the algorithm, the op or the root: nothing is sent, and the team goes on."""
    team, case, odd = careful, CASES[collective], careful.me == careful.n_pes - 1
    usual = Call("float32", "sum", team.n_pes, team.me, 0, 8)
    changes = [{"count": 7}, {"name": "int32"}, {}, *[{"op": "max"}] * case.reduces, *[{"root": 1}] * case.rooted]
    for change in changes:
        call = replace(usual, **change) if odd else usual
        x, out = case.fresh(lambda values: device(team, values), call)
        options = {} if change else {"algorithm": list(case.table)[odd]}
        words = f"PE 0 {collective} of ", f"PE {team.n_pes - 1} {collective} of "
        refused(team, lambda call=call, x=x, out=out, options=options: case.run(team, call, x, out, **options), *words)
        assert same(x, case.x(call))
    x, out = case.fresh(lambda values: device(team, values), usual)
    case.run(team, usual, x, out)


def test_values_of_a_loop(careful):
    """A loop whose value differs between the PEs, although they end together by chance."""
    team = careful
    value = team.full(1, np.float32(team.me // (team.n_pes - 1)) / 3, "float32")
    for below in (1.0, 0.0):
        with pytest.raises(CollectiveMismatchError, match=f"value 0.0 after 1 runs; .*PE {team.n_pes - 1} value 0.333"):
            team.plan_loop(lambda stream: None, value, below, 1 if below == 0 else 10)()
    write(value, [0.5])
    team.plan_loop(lambda stream: None, value, 1.0)()


def test_another_collective(careful):
    """One PE is at a barrier, the others in an allreduce."""
    x = device(careful, np.ones(12, np.float32))
    refused(careful, careful.barrier if careful.me == 0 else lambda: careful.allreduce(x), "barrier", "allreduce")
    assert same(x, np.ones(12))


def test_a_bad_argument_is_that_first(careful):
    for op in ("no_such", MPI.BAND):
        with pytest.raises(ValueError, match="use one of sum"):
            careful.allreduce(device(careful, np.ones(3)), op=op)


def test_plans_are_compared(careful):
    """Plans in different orders, and a plan on one PE with an eager call on the others; the team goes on."""
    team, odd = careful, careful.me == careful.n_pes - 1
    x = device(team, np.ones(12, np.float32))
    plans = [team.plan_allreduce(x) for _ in range(2)]
    for call in (plans[odd], plans[0] if odd else lambda: team.allreduce(x)):
        refused(team, call, "plan 1", "sum")
    assert same(x, np.ones(12))
    plans[0]()
    plans[1]()
    assert same(x, np.full(12, team.n_pes**2))
