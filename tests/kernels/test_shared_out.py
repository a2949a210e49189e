"""Plans whose ``out`` is the same symmetric array on every PE: the peers write it."""

import numpy as np
import pytest
from on_device import device, same, skip_if_refused, write
from reductions import OPS, expected, own

from pennympi import Unsupported
from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.kernels.allreduce import PLANNED

pytestmark = pytest.mark.mpi

SIZES, MOST, GUARD = (0, 1, 17, 4097, 65537), 65537, 16


@pytest.mark.parametrize("algorithm", PLANNED)
def test_exact(team, algorithm):
    """Every dtype with some op and size (others at other PE counts), in place and not, at an offset or none, twice."""
    skip_if_refused(team, algorithm)
    x, out = (team.array(np.full((MOST + 2 * GUARD) * 8, 0x5A, np.uint8)) for _ in "xy")
    for turn, name in enumerate(DTYPES):  # a plan each: each has a workspace
        op, count = OPS[(turn + team.n_pes) % len(OPS)], SIZES[(turn + team.n_pes // 5) % len(SIZES)]
        at = slice(GUARD + turn % 2, GUARD + turn % 2 + count)
        source = x.view(DTYPES[name].numpy)[at]
        target = source if turn % 3 == 0 else out.view(DTYPES[name].numpy)[at]
        plan = team.plan_allreduce(source, None if target is source else target, op, algorithm)
        for _ in range(2):
            write(source, own(name, op, team.n_pes, team.me, MOST)[:count])
            team.barrier()
            plan()
            assert same(target, expected(name, op, team.n_pes, MOST)[:count]), f"{name} {op} of {count}"
    team.free(x)
    team.free(out)


def test_auto_takes_it_when_all_name_the_same(team):
    """A plan on a shared out and one on arrays of different places, of the same size, give the same."""
    x, out, other = team.full(5000, team.me + 1.0, "float32"), team.empty(5000, "float32"), team.empty(5000, "float32")
    for target in (out, out if team.me % 2 else other, device(team, np.zeros(5000, np.float32))):
        plan = team.plan_allreduce(x, target)
        plan()
        assert same(target, np.full(5000, team.n_pes * (team.n_pes + 1) / 2, np.float32))
    for array in (x, out, other):
        team.free(array)


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
    for array in (x, out, other):
        team.free(array)
