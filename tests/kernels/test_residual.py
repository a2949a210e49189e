"""allreduce with a residual: every algorithm that adds a residual, bit for bit, and one clear error from the others."""

import numpy as np
import pytest
from on_device import device, same, to_numpy, write
from reductions import expected_plus, op_of, own
from refused import refused

from pennympi import Unsupported
from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.kernels.algorithm import ROUND_TWICE
from pennympi.kernels.allreduce import TABLE

pytestmark = pytest.mark.mpi
ABLE = [name for name, algorithm in TABLE.items() if algorithm.residual]
SIZES = (0, 1, 17, 255, 4097, 65537)
SHAPES = ("apart", "residual is out", "in place", "in place, residual is x", "residual is x")


@pytest.mark.parametrize("algorithm", ABLE)
def test_exact(team, algorithm):
    n, turn = team.n_pes, ABLE.index(algorithm) + team.n_pes
    memory = [team.array(np.zeros(8 * (max(SIZES) + 1), np.uint8)) for _ in range(3)]
    names = [*DTYPES][turn % 2 :: 1 if n <= 3 else 4]
    for name in names:
        for count in SIZES:
            turn += 1
            op, shape, at = op_of(name), SHAPES[turn % len(SHAPES)], turn % 2
            if TABLE[algorithm].why_not(team.pe_topology, name, op):
                continue
            x, out, rest = (m.view(DTYPES[name].numpy)[at : at + count] for m in memory)
            given, more = own(name, op, n, team.me, count), own(name, "sum", n, (team.me + 1) % n, count)
            out = x if "in place" in shape else out
            rest = {"out": out, "x": x}.get(shape.rpartition("is ")[2], rest)
            more = given if rest is x else more
            write(rest, more)
            write(x, given)
            assert team.allreduce(x, None if out is x else out, op, algorithm, residual=rest) is out
            wanted = expected_plus(name, op, n, more, TABLE[algorithm].residual == ROUND_TWICE and n > 1)
            assert same(out, wanted), (name, op, count, shape, to_numpy(out)[:8], wanted[:8])
            assert out is x or same(x, given)
            assert rest is x or rest is out or same(rest, more)


def test_auto_plan_and_plain_memory(team):
    """The choice is among the algorithms that add a residual; a plan reads the arrays when it is called."""
    for count in (3, 100_000, 1_000_000 if team.n_pes <= 4 else 200_000):
        x, rest = (device(team, np.full(count, pe, np.int32)) for pe in (team.me, 10 * team.me))
        out = device(team, np.zeros(count, np.int32))
        total = sum(range(team.n_pes))
        assert same(team.allreduce(x, out, residual=rest), np.full(count, total + 10 * team.me))
        plan = team.plan_allreduce(x, out, residual=rest)
        write(rest, np.full(count, 7))
        plan()
        assert same(out, np.full(count, total + 7))


def test_bad_residuals(team, monkeypatch):
    x, out, rest = (device(team, np.ones(8, np.float32)) for _ in range(3))
    for bad, error, match in (
        (rest[:-1], ValueError, "must be alike"),
        (device(team, np.ones(8)), ValueError, "must be alike"),
        (rest[::2], ValueError, "not contiguous: pass"),
        (3, TypeError, "is not a"),
    ):
        refused(error, match, team.allreduce, x, out, residual=bad)
    refused(ValueError, "overlap.*residual=out", team.allreduce, x[:4], out[:4], residual=out[1:5])
    unable = next(name for name, algorithm in TABLE.items() if not algorithm.residual)
    message = f"{unable} can't add a residual: use .*one_shot"
    refused(Unsupported, message, team.allreduce, x, out, algorithm=unable, residual=rest)
    monkeypatch.setenv("PENNYMPI_ALGORITHM", f"allreduce:{unable}")
    refused(Unsupported, "can't add a residual", team.plan_allreduce, x, out, residual=rest)
    monkeypatch.delenv("PENNYMPI_ALGORITHM")
    assert same(out, np.ones(8)) and same(team.allreduce(x, out, residual=rest), np.full(8, team.n_pes + 1))
