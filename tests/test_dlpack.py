"""Arrays of others: the buffer protocol, DLPack, PyTorch; in place and out of place, without a copy of their own."""

import array

import numpy as np
import pytest
from on_device import device, to_numpy

from pennympi import Unsupported

pytestmark = pytest.mark.mpi

CPU = (1, 0)


class Capsule:
    """An array that says nothing of itself but DLPack."""

    def __init__(self, x, where=None):
        self._x, self._where = x, where

    def __dlpack__(self, **named):
        return self._x.__dlpack__(**named)

    def __dlpack_device__(self):
        return self._where or self._x.__dlpack_device__()


def check(team, x, read, n, dtype):
    """The largest of x, in place: n elements of the number of PEs."""
    team.allreduce(x, op="max")
    team.synchronize()
    assert np.array_equal(read(), np.full(n, team.n_pes, dtype)), read()


def test_bytearray(team):
    x = bytearray([team.me + 1] * 13)
    if team.backend == "cuda":
        with pytest.raises(ValueError, match="cupy.asarray"):
            team.allreduce(x)
    else:
        check(team, x, lambda: np.frombuffer(x, np.uint8), 13, np.uint8)
        check(team, memoryview(x)[:0], lambda: np.empty(0), 0, np.uint8)


@pytest.mark.parametrize("code", "bBhHiIqQfd")
def test_array_array(team, code):
    x = array.array(code, [team.me + 1] * 13)
    if team.backend == "cuda":
        with pytest.raises((TypeError, ValueError), match="array"):
            team.allreduce(x)
    else:
        check(team, x, lambda: np.asarray(x), 13, np.dtype(code))


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "int8", "int64", "uint8", "uint16"])
def test_only_dlpack(team, name):
    x = device(team, np.full(33, team.me + 1, name))
    check(team, Capsule(x), lambda: to_numpy(x), 33, name)
    x = device(team, np.full((5, 3), team.me + 1, name))
    out = device(team, np.zeros((5, 3), name))
    wrapped = Capsule(out)
    assert team.allreduce(Capsule(x), wrapped, "max") is wrapped
    team.synchronize()
    assert (to_numpy(out) == team.n_pes).all() and (to_numpy(x) == team.me + 1).all()


def test_dlpack_offset_and_size(team):
    for low, high in ((1, 30), (3, 3), (7, 8)):
        x = device(team, np.full(33, team.me + 1, np.float32))
        check(team, Capsule(x[low:high]), lambda x=x, low=low, high=high: to_numpy(x)[low:high], high - low, "f4")
        assert to_numpy(x)[low - 1] == team.me + 1 and to_numpy(x)[high] == team.me + 1


def test_dlpack_symmetric(team):
    """A symmetric array behind DLPack is still symmetric."""
    x, y = team.full(9, team.me), team.full(9, -1)
    right = (team.me + 1) % team.n_pes
    team.put(Capsule(y), Capsule(x), right)
    team.barrier()
    team.synchronize()
    assert (to_numpy(y) == (team.me - 1) % team.n_pes).all()
    team.free(x)
    team.free(y)


def test_dlpack_refused(team):
    x = device(team, np.ones((4, 6), np.float32))
    with pytest.raises(ValueError, match="not contiguous: pass"):
        team.allreduce(Capsule(x[:, :3]))
    with pytest.raises(ValueError, match="not contiguous: pass"):
        team.allreduce(Capsule(x.T))
    with pytest.raises(Unsupported, match="DLPack type code"):
        team.allreduce(Capsule(device(team, np.ones(4, np.complex64))))
    elsewhere = CPU if team.backend == "cuda" else (2, 0)
    with pytest.raises(ValueError, match="move it first"):
        team.allreduce(Capsule(x, elsewhere))
    y = device(team, np.full(3, team.me + 1))
    check(team, y, lambda: to_numpy(y), 3, int)


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float32", "int64"])
def test_torch(team, name):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    where = "cpu"
    if team.backend == "cuda":
        if not torch.cuda.is_available():
            pytest.skip("this PyTorch has no CUDA")
        import cupy

        where = f"cuda:{cupy.cuda.Device().id}"
    x = torch.full((17,), team.me + 1, dtype=getattr(torch, name), device=where)
    out = torch.zeros_like(x)
    assert team.allreduce(x, out, "max") is out
    team.synchronize()
    assert (out == team.n_pes).all() and (x == team.me + 1).all()
    check(team, x, lambda: x.double().cpu().numpy(), 17, np.float64)
    with pytest.raises(ValueError, match=r"x.contiguous\(\)"):
        team.allreduce(torch.ones((4, 4), device=where).t()[1:])
