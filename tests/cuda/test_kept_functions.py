"""What GPU kernels of one process share of their functions, and what is made anew: as PTX, without a GPU."""

import sys
from types import SimpleNamespace

import pytest
from mpi4py import MPI

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("one process compiles for all: run these tests without mpirun", allow_module_level=True)

from numba.cuda import dispatcher

from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.collectives.base import constants
from pennympi.compile.context import SIGNED
from pennympi.compile.options import KernelOptions
from pennympi.cuda import compile as backend
from pennympi.kernels.allreduce import TABLE
from pennympi.kernels.block import lanes, load, store

HOPPER, FACTOR = (9, 0), 1234567


@pytest.fixture
def ptx(monkeypatch):
    monkeypatch.setattr(dispatcher, "get_current_device", lambda: SimpleNamespace(compute_capability=HOPPER))

    def compiled(kernel, name, **options):
        return backend.ptx(*backend.entry(kernel, name, KernelOptions(**options), backend.Target(HOPPER)), HOPPER)

    return compiled


def times_factor(x):
    return x * FACTOR


def scale(ctx, x, n):
    for i in lanes(0, n):
        store(x, i, times_factor(load(x, i)))


def test_a_number_of_a_users_module_is_read_each_time(ptx, monkeypatch):
    options = {"elements": DTYPES["int64"]}
    assert "1234567" in ptx(scale, "scale", **options)
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 7654321)
    code = ptx(scale, "scale", **options)
    assert "7654321" in code and "1234567" not in code


def test_kernels_share_what_is_the_same(ptx):
    """A second call of another name: what knows no name is there, and its own number is in the code."""
    row = TABLE["one_shot"]
    options = {"reduction": (DTYPES["float32"], "sum"), "constants": constants(row.kernel, DTYPES["float32"], 2)}
    first = ptx(row.kernel, "allreduce (one_shot)", **options)
    before = backend._device.cache_info()
    second = ptx(row.kernel, "another call", **options)
    after = backend._device.cache_info()
    assert after.hits - before.hits > 5 * (after.misses - before.misses) > 0
    own = str(backend.call_number("another call") + SIGNED)
    assert (own in first, own in second) == (False, True)
