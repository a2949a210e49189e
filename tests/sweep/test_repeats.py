"""A plan of sweeps gives the right bits in each of 300 calls."""

import numpy as np
import pytest
from on_device import to_numpy, write
from sweep_reference import laplace, swept

pytestmark = pytest.mark.mpi

SHAPE, SWEEPS, TIMES, RING = (96, 264), 37, 300, (True, False)


@pytest.mark.parametrize("engine", ["plain", "blocked", "resident"])
def test_many_calls(team, engine):
    """The calls alternate between two starts."""
    if not team._backend.has_streams:
        pytest.skip(f"the {team.backend} backend's resident sweeps are simulated")
    grid = team.grid(SHAPE, dims=(0, 1), periodic=RING, halo=2)
    u, v = grid.zeros("float32"), grid.zeros("float32")
    plan = grid.plan_sweep(laplace, u, v, SWEEPS, norm="every", engine=engine, depth=1 if engine == "plain" else 2)
    starts, rights, norms = [], [], set()
    for seed in range(2):
        whole = np.zeros([n + 2 for n in SHAPE], "float32")
        whole[1:-1, 1:-1] = np.random.default_rng(seed).uniform(-1, 1, SHAPE)
        rows = slice(grid.first[0], grid.first[0] + grid.own[0])
        rights.append(swept(laplace, whole, RING, SWEEPS)[0][rows].tobytes())
        start = np.zeros(grid.local, "float32")
        grid.interior(start)[...] = whole[1:-1, 1:-1][rows]
        starts.append(start)
    for k in range(TIMES):
        write(u, starts[k % 2])
        team.barrier()
        plan()
        assert grid.interior(to_numpy(plan.newest)).tobytes() == rights[k % 2], k
        norms.add((k % 2, to_numpy(plan.norms).tobytes()))
    assert len(norms) == 2
