"""Plans of sweeps as bodies of loops, and which of them are refused."""

import pytest
from refused import refused
from sweep_reference import laplace

pytestmark = [pytest.mark.mpi, pytest.mark.hosts(most_pes=8)]


def test_sweeps_that_would_not_go_on(team):
    """A body is refused if the next run would begin with an older field than the last result; functions are trusted."""
    grid = team.grid((36, 40), halo=3, periodic=(True, False))
    u, v, value = grid.zeros("float32"), grid.zeros("float32"), team.zeros(1, "float64")
    there, back = (grid.plan_sweep(laplace, *pair, 3, norm=True, engine="plain") for pair in ((u, v), (v, u)))
    even, total = grid.plan_sweep(laplace, u, v, 2, engine="plain"), team.plan_allreduce(value)
    for bodies in (there, [there], [there, total], [there, there], [even, there], [there, even], [there, back, back]):
        refused(ValueError, "take an even number of sweeps, or two plans", team.plan_loop, bodies, value, 0)
    for bodies in (even, [there, back], [even, there, back, even], [there, total, back]):
        team.plan_loop(bodies, value, 0)
    team.plan_loop([there, lambda stream: None], value, 0)
