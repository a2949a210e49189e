"""Kernels and sweeps of a function, made before and after a value that it reads has changed."""

from types import ModuleType

import numba
import numpy as np
import pytest
from on_device import to_numpy

from pennympi.kernels.block import Elements, lanes, real, store

pytestmark = pytest.mark.mpi

CONFIG = ModuleType("config")
FACTOR, TABLE = 1.0, np.ones(2)


@numba.njit
def jitted(x):
    return x * FACTOR


def of_table(x):
    return x * TABLE[1]


FUNCTIONS = (of_table,)


def product(ctx, y: Elements, n: int):
    for i in lanes(0, n):
        store(y, i, real(jitted(1.0) * of_table(1.0) * CONFIG.alpha))


def decay(u, x_minus, x_plus):
    return real(FACTOR * CONFIG.alpha) * u


@pytest.fixture(autouse=True)
def values(monkeypatch):
    for name, value in (("FACTOR", 2.0), ("TABLE", np.ones(2))):
        monkeypatch.setitem(globals(), name, value)
    monkeypatch.setattr(CONFIG, "alpha", 3.0, raising=False)


def changes():
    """Change one value after the other.  Yield the product of all values."""
    yield 6.0
    globals()["FACTOR"] = 4.0
    yield 12.0
    CONFIG.alpha = 5.0
    yield 20.0
    TABLE[1] = 7.0
    yield 140.0
    TABLE[1] = 1.0
    yield 20.0


def test_kernels(team):
    """A kernel has the values of its first call, and keeps them."""
    y, made = team.zeros(3, "float64"), []
    for wanted in changes():
        made.append((team.kernel(product, "float64"), wanted))
        for kernel, own in made:
            kernel(1, y, 3)
            team.synchronize()
            assert to_numpy(y).tolist() == [own] * 3


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["plain", "blocked", "resident", "auto"])
def test_sweeps(team, engine):
    """A plan has the values of the time at which it was made."""
    on_gpu = team.backend == "cuda" and engine == "resident"
    formula = (lambda u, x_minus, x_plus, y_minus, y_plus: decay(u, y_minus, y_plus)) if on_gpu else decay
    grid, plans = team.grid((64, 64) if on_gpu else (64,), halo=2), []
    u, v = grid.zeros(), grid.zeros()
    for factor, alpha in ((0.25, 1.0), (0.25, 0.5), (0.25, 1.0)):
        globals()["FACTOR"], CONFIG.alpha = factor, alpha
        plans.append((grid.plan_sweep(formula, u, v, sweeps=2, engine=engine), (factor * alpha) ** 2))
    for plan, wanted in plans:
        grid.interior(u)[...] = 1
        plan()
        team.synchronize()
        found = team.comm.allgather(to_numpy(grid.interior(plan.newest)).ravel().tolist())
        assert {one for part in found for one in part} == {wanted}
