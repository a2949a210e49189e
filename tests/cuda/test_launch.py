"""The arguments of a launch on a GPU, packed as the driver reads them.  Needs no GPU: nothing is launched."""

import ctypes
import sys
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

pytest.importorskip("cuda.bindings")

from pennympi.compile.options import KernelOptions


class Where(NamedTuple):
    """Two numbers of a record."""

    low: int
    n_pes: int


def kernel(ctx, where: Where, factor, flag, high):
    pass


@pytest.fixture
def launch(monkeypatch):
    """pennympi.cuda.launch, with a driver that is not there."""
    absent, load = SimpleNamespace(cuLaunchKernelEx=SimpleNamespace()), ctypes.CDLL
    monkeypatch.setattr(ctypes, "CDLL", lambda name, *args: absent if name == "libcuda.so.1" else load(name, *args))
    monkeypatch.delitem(sys.modules, "pennympi.cuda.launch", raising=False)
    import pennympi.cuda.launch as module

    yield module
    sys.modules.pop("pennympi.cuda.launch", None)


@pytest.mark.parametrize("constants", [{}, {"n_pes": 4}])
def test_packed_arguments(launch, constants):
    peers = SimpleNamespace(ctx_address=77)
    made = launch.CudaKernel(peers, 0, kernel, KernelOptions("iifii", constants=constants))
    words, pointers = made._pack((-5, np.int64(4), 2.5, True, (1 << 62) + 1))
    found = [77, -5, 4, 2.5, 1, (1 << 62) + 1] if not constants else [77, -5, 2.5, 1, (1 << 62) + 1]
    assert len(words) == len(pointers) == len(found)
    for number, pointer in zip(found, pointers, strict=True):
        kind = ctypes.c_double if isinstance(number, float) else ctypes.c_int64
        assert kind.from_address(pointer).value == number
    made._fill(words, (1, 2, 3.0, 4, 5))
    assert words[1] == 1 and words[len(words) - 1] == 5 and words[0] == 77
