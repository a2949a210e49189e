"""AllReduce and Broadcast of numbers of Python and NumPy."""

import math

import numpy as np
import pytest
from mpi4py import MPI
from on_device import device, same

pytestmark = pytest.mark.mpi


def test_allreduce(team):
    n, me = team.n_pes, team.me
    every = range(1, n + 1)
    for x, op, wanted in (
        (me + 1, "sum", sum(every)),
        (me + 1, MPI.PROD, math.factorial(n)),
        (-me - 1, "avg", -(sum(every) // n)),
        ((me + 1) << 80, "max", n << 80),
        (me + 0.5, "min", 0.5),
        (me + 1.0, "mean", sum(every) / n),
        (1j * (me + 1), "mean", 1j * sum(every) / n),
        (me == 0, "max", True),
        (me == n, MPI.LOR, False),
        (np.float32(me + 1), "sum", np.float32(sum(every))),
        (np.float16(2048 if me == 0 else 1), "sum", np.float16(2048 + n - 1)),
        (np.int8(me), MPI.MAX, np.int8(n - 1)),
        (np.bool_(True), MPI.LAND, np.bool_(True)),
    ):
        result = team.allreduce(x, op=op)
        assert result == wanted and type(result) is type(x), (x, op, result)
    lost = team.allreduce(math.nan if me == n - 1 else 1.0, op="min")
    assert math.isnan(lost)


def test_broadcast(team):
    root = team.n_pes - 1
    for x in (team.me + 1, team.me + 0.5, 1j * team.me, np.float32(team.me), team.me == root):
        result = team.broadcast(x, root=root)
        assert result == team.gather(x)[root] and type(result) is type(x)


def test_refused(team):
    x = device(team, np.ones(3, np.float32))
    for error, match, call in (
        (TypeError, "out and residual are for arrays", lambda: team.allreduce(3, x)),
        (TypeError, "out and residual are for arrays", lambda: team.allreduce(3.0, residual=x)),
        (ValueError, "use one of sum", lambda: team.allreduce(3, op="summ")),
        (ValueError, "use avg, which truncates", lambda: team.allreduce(3, op="mean")),
        (ValueError, "logical and", lambda: team.allreduce(True)),
        (ValueError, "root", lambda: team.broadcast(3, root=team.n_pes)),
        (TypeError, "root", lambda: team.broadcast(3, root="0")),
        (TypeError, "is not a", lambda: team.plan_allreduce(3)),
        (TypeError, "is not a", lambda: team.reduce(3.0)),
        (TypeError, "is not a", lambda: team.allreduce(x, np.float32(3))),
        (TypeError, "is not a", lambda: team.allreduce("3")),
    ):
        with pytest.raises(error, match=match):
            call()
    assert same(team.allreduce(x), np.full(3, team.n_pes))


def test_every_pe_gives_the_same_type(team):
    if team.n_pes == 1:
        pytest.skip("one PE gives one type")
    odd = team.me == team.n_pes - 1
    for call in (team.allreduce, team.broadcast):
        with pytest.raises(TypeError, match=f"float on PE 0 and int on PE {team.n_pes - 1}: give the same type"):
            call(1 if odd else 1.0)
    assert team.allreduce(1) == team.n_pes
