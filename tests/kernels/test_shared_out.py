"""Plans whose ``out`` is the same symmetric array on every PE: the peers write it."""

import numpy as np
import pytest
from on_device import device, same

from pennympi import Unsupported
from pennympi.kernels.allreduce import PLANNED

pytestmark = pytest.mark.mpi


def test_auto_takes_it_when_all_name_the_same(team):
    """A plan on a shared out and one on arrays of different places, of the same size, give the same."""
    x, out, other = team.full(5000, team.me + 1.0, "float32"), team.empty(5000, "float32"), team.empty(5000, "float32")
    for target in (out, out if team.me % 2 else other, device(team, np.zeros(5000, np.float32))):
        plan = team.plan_allreduce(x, target)
        plan()
        assert same(target, np.full(5000, team.n_pes * (team.n_pes + 1) / 2, np.float32))


@pytest.mark.parametrize("algorithm", PLANNED)
def test_not_shared(team, algorithm):
    if team.n_pes == 1:
        pytest.skip("one PE shares with nobody")
    x, out, other = team.full(64, 1.0, "float32"), team.empty(64, "float32"), team.empty(64, "float32")
    with pytest.raises(Unsupported, match="runs in plans whose out is the same symmetric array on every PE"):
        team.allreduce(x, out, algorithm=algorithm)
    for target in (out if team.me else other, out[1:] if team.me else out[:-1], device(team, np.zeros(64, np.float32))):
        with pytest.raises(Unsupported, match="runs in plans whose out is the same"):
            team.plan_allreduce(x[: target.size], target, algorithm=algorithm)
    assert same(team.allreduce(x, out), np.full(64, team.n_pes, np.float32))
