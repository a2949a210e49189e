"""Every kernel that a solve launches is among those that its variant names for ``team.compile``."""

import pytest

from apps.jacobi.grid.problem import Problem
from apps.jacobi.solver import Solver
from apps.jacobi.timing.one_pe_team import OnePeTeam
from apps.jacobi.variants import TABLE, row_of

CASES = [(name, "jacobi") for name in TABLE] + [("nvshmem_overlap", "chebyshev")]


@pytest.mark.mpi
@pytest.mark.parametrize("variant, method", CASES, ids=[f"{name}-{method}" for name, method in CASES])
@pytest.mark.parametrize("nccheck", [1, 7])
def test_warming_up_compiles_nothing_more(team, monkeypatch, variant, method, nccheck):
    problem = Problem(nx=66, ny=130, niter=40, nccheck=nccheck, method=method)
    on = OnePeTeam(team) if variant == "single" else team
    row = row_of(problem, variant)
    if row.refuse(on, problem):
        pytest.skip(row.refuse(on, problem))
    asked = []
    kernel = type(team._backend).kernel

    def noted(backend, function, name, *options):
        if function.__module__.startswith(("apps.", "pennympi.apps.")):
            asked.append((function, name, *options))
        return kernel(backend, function, name, *options)

    monkeypatch.setattr(type(team._backend), "kernel", noted)
    team.compile(row.make.kernels(on, problem, True))
    ahead = set(asked)
    asked.clear()
    solver = Solver(on, problem, variant)
    solver.warm_up(True)
    solver.reset()
    solver.run(show=True)
    solver.free()
    assert asked and set(asked) <= ahead, [one[0].__qualname__ for one in set(asked) - ahead]
