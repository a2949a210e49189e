"""Which objects the cuda backend takes as arrays, by where their memory is; a stand-in for CuPy says where."""

import importlib.util
import sys
from types import SimpleNamespace

import pytest
from mpi4py import MPI

import pennympi

UNREGISTERED, PINNED, DEVICE, MANAGED = range(4)
AT = {4096: (DEVICE, 0), 8192: (DEVICE, 1), 12288: (UNREGISTERED, 0), 16384: (PINNED, 0), 20480: (MANAGED, 1)}


class Described:
    """Four float32 at an address; Numba's arrays describe themselves in this way."""

    def __init__(self, address, strides=None, read_only=False, count=4):
        self.__cuda_array_interface__ = {
            "shape": (count,), "typestr": "<f4", "data": (address, read_only), "strides": strides, "version": 3
        }  # fmt: skip


@pytest.fixture
def array_view(monkeypatch):
    """The result of ``view`` on a PE of device 0."""
    attributes = lambda address: SimpleNamespace(type=AT[address][0], device=AT[address][1])  # noqa: E731
    runtime = SimpleNamespace(pointerGetAttributes=attributes)
    made = SimpleNamespace(ndarray=type("ndarray", (), {}), cuda=SimpleNamespace(runtime=runtime))
    monkeypatch.setitem(sys.modules, "cupy", made)
    source = f"{pennympi.__path__[0]}/cuda/memory/arrays.py"
    spec = importlib.util.spec_from_file_location("pennympi.cuda.memory.arrays_without_a_gpu", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return lambda x, writable=True: module.array_view(x, writable, 0)


def test_the_place_of_an_array(array_view):
    for address in (4096, 16384, 20480):
        found = array_view(Described(address))
        assert (found.address, found.count, found.dtype.name) == (address, 4, "float32")
    with pytest.raises(ValueError, match="Described lies on device 1 and this PE uses device 0: copy it there"):
        array_view(Described(8192))
    with pytest.raises(ValueError, match="Described lies in host memory: copy it with cupy.asarray"):
        array_view(Described(12288))
    assert array_view(Described(0, count=0)).count == 0  # CUDA knows nothing of it


def test_gaps_and_read_only(array_view):
    with pytest.raises(ValueError, match=r"not contiguous: pass y = a contiguous copy, .* back by x\[...\] = y"):
        array_view(Described(4096, strides=(8,)))
    with pytest.raises(ValueError, match="not contiguous: pass a contiguous copy$"):
        array_view(Described(4096, strides=(8,)), writable=False)
    assert array_view(Described(4096, read_only=True), writable=False).count == 4
    with pytest.raises(ValueError, match="is read-only, and the call writes to it"):
        array_view(Described(4096, read_only=True))


def test_no_array(array_view):
    with pytest.raises(TypeError, match="MPI.IN_PLACE is not an array"):
        array_view(MPI.IN_PLACE)
