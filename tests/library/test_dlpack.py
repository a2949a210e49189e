"""Arrays of other libraries: the buffer protocol, DLPack, PyTorch; in place and out of place, without a copy."""

import array
import ctypes

import numpy as np
import pytest
from on_device import device, to_numpy
from refused import refused

from pennympi import Unsupported
from pennympi.arrays import dlpack

pytestmark = pytest.mark.mpi

CPU = (1, 0)


class Capsule:
    """An array with DLPack and nothing else."""

    def __init__(self, x, where=None):
        self._x, self._where = x, where

    def __dlpack__(self, **named):
        return self._x.__dlpack__(**named)

    def __dlpack_device__(self):
        return self._where or self._x.__dlpack_device__()


class Old(Capsule):
    """A producer from before DLPack 1.0, without versions and flags."""

    def __dlpack__(self):
        return self._x.__dlpack__()


class Marked(Capsule):
    """A capsule with a change in DLManagedTensorVersioned: (byte offset, type, new value)."""

    def __init__(self, x, *change):
        super().__init__(x)
        self._at, self._type, self._value = change

    def __dlpack__(self, max_version):
        capsule = self._x.__dlpack__(max_version=max_version)
        pointer = dlpack._pointer(capsule, b"dltensor_versioned")
        self._type.from_address(pointer + self._at).value = self._value
        return capsule


READ_ONLY, VERSION_2 = (24, ctypes.c_uint64, 1), (0, ctypes.c_uint32, 2)
HANDLES = 52, ctypes.c_uint8, 3  # the type code of elements that are not numbers


def check(team, x, read, n, dtype):
    """The maximum over the PEs, in place: n elements with the number of PEs."""
    team.allreduce(x, op="max")
    team.synchronize()
    assert np.array_equal(read(), np.full(n, team.n_pes, dtype)), read()


@pytest.mark.parametrize("code", ["", *"bBhHiIqQfd"])
def test_buffers_of_python(team, code):
    """A bytearray, and arrays of the module array."""
    x = array.array(code, [team.me + 1] * 13) if code else bytearray([team.me + 1] * 13)
    if team.backend == "cuda":
        with pytest.raises((TypeError, ValueError), match="array"):
            team.allreduce(x)
    else:
        check(team, x, lambda: np.asarray(x) if code else np.frombuffer(x, np.uint8), 13, np.dtype(code or "u1"))
        check(team, memoryview(x)[:0], lambda: np.empty(0), 0, np.uint8)


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "int8", "int64", "uint8", "uint16"])
def test_only_dlpack(team, name):
    x, out = device(team, np.full((5, 3), team.me + 1, name)), device(team, np.zeros((5, 3), name))
    wrapped = Capsule(out)
    assert team.allreduce(Capsule(x), wrapped, "max") is wrapped
    team.synchronize()
    assert (to_numpy(out) == team.n_pes).all() and (to_numpy(x) == team.me + 1).all()
    check(team, Capsule(x[0]), lambda: to_numpy(x[0]), 3, name)


def test_a_symmetric_array_by_dlpack_is_symmetric(team):
    x, y = team.full(9, team.me, "float32"), team.full(9, -1, "float32")
    team.put(Capsule(y), Capsule(x), (team.me + 1) % team.n_pes)
    team.barrier()
    team.synchronize()
    assert (to_numpy(y) == (team.me - 1) % team.n_pes).all()


def test_what_is_refused(team):
    x = device(team, np.ones((4, 6), np.float32))
    elsewhere = CPU if team.backend == "cuda" else (2, 0)
    for given, error, match in (
        (Capsule(x[:, :3]), ValueError, "not contiguous: pass"),
        (Capsule(x.T), ValueError, "not contiguous: pass"),
        (Marked(x, *HANDLES), Unsupported, "DLPack type code"),
        (Marked(x, *VERSION_2), Unsupported, r"DLPack 2\.\d+ of Marked is not 1.x"),
        (Capsule(x, elsewhere), ValueError, "move it first"),
    ):
        refused(error, match, team.allreduce, given)
    y = device(team, np.full(3, team.me + 1))
    check(team, y, lambda: to_numpy(y), 3, int)


def test_read_only(team):
    """A read-only array may be an input, and not an output, if its producer is new enough to say so."""
    x, out = device(team, np.full(33, team.me + 1, np.float32)), device(team, np.zeros(33, np.float32))
    for given in (Marked(x, *READ_ONLY), Old(x)):
        team.allreduce(given, out, "max")
        assert (to_numpy(out) == team.n_pes).all()
    frozen = [Marked(out, *READ_ONLY)]
    if team.backend == "host":
        by_numpy = np.zeros(33, np.float32)
        by_numpy.flags.writeable = False
        frozen.append(Capsule(by_numpy))
    for one in frozen:
        for call, *args in (
            (team.allreduce, one), (team.allreduce, x, one), (team.all_gather, x[: 33 // team.n_pes], one),
            (team.exchange, one, x, team.me),
        ):  # fmt: skip
            refused(ValueError, "is read-only, and the call writes to it: pass a copy", call, *args)
    check(team, Old(x), lambda: to_numpy(x), 33, np.float32)


def test_another_gpus_memory_is_refused_by_its_number():
    x, gpu = np.ones(3, np.float32), (dlpack.CUDA, dlpack.CUDA_MANAGED)
    for kind in gpu:
        assert dlpack.read(Capsule(x, (kind, 1)), True, gpu, 1)[:2] == (x.ctypes.data, 3)
        with pytest.raises(ValueError, match="is on device 1 and this PE uses device 0: move it there first"):
            dlpack.read(Capsule(x, (kind, 1)), False, gpu, 0)


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
    everyone = team.all_gather(torch.full((2,), team.me, device=where))
    team.synchronize()
    assert isinstance(everyone, torch.Tensor) and everyone.tolist() == [pe for pe in range(team.n_pes) for _ in range(2)]
    refused(ValueError, "x.contiguous()", team.allreduce, torch.ones((4, 4), device=where).t()[1:])
