"""Every kernel that a solve launches is among those that its variant names for ``team.compile``."""

import pytest

from apps.jacobi.grid.problem import Problem
from apps.jacobi.solver import Solver
from apps.jacobi.timing.one_pe_team import OnePeTeam
from apps.jacobi.variants import TABLE, row_of
from pennympi.command.ahead import Machine, of_application

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


def names_for(machine):
    keys = [one.key for one in of_application(machine, "apps.jacobi.ahead", 2)]
    assert len(keys) == len(set(keys)), "each once"
    return [kernel.__qualname__ for kernel, _, _ in keys]


def test_what_is_compiled_beforehand_for_a_cpu():
    names = names_for(Machine(()))
    for part in ("sweeps_march", "exchanging_sweeps_march", "persistent_sweeps", "chebyshev", "wrap"):
        assert any(part in name for name in names), (part, names)


def test_what_is_compiled_beforehand_for_a_gpu():
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
    names = names_for(Machine((9, 0)))
    for part in ("march_8_none_float32", "march_8_all_float64", "march_4_last_float32", "march_1_last_float64"):
        assert any(part in name for name in names), (part, names)
