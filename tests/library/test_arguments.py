"""Bad arguments: one clear error that names the remedy, on every PE, before anything is sent; the team stays usable."""

import numpy as np
import pytest
from mpi4py import MPI
from on_device import device, same
from refused import refused

import pennympi
from pennympi import Unsupported

pytestmark = pytest.mark.mpi
COUNT = 16


class Arrays:
    def __init__(self, team):
        self.x, self.out = team.full(COUNT, 1, "float32"), team.full(COUNT, 7, "float32")
        self.grid = team.zeros((4, 4), "float32")
        self.signals = team.signals(2)
        self.plain = device(team, np.ones(COUNT, np.float32))


class Described:
    """An array with __cuda_array_interface__ alone, and read-only."""

    def __init__(self, x):
        self.kept = x
        if hasattr(x, "__cuda_array_interface__"):
            self.__cuda_array_interface__ = x.__cuda_array_interface__ | {"data": (x.data.ptr, True)}
        else:
            address = x.ctypes.data
            self.__cuda_array_interface__ = {"shape": x.shape, "typestr": "<f4", "data": (address, True), "version": 3}


@pytest.fixture
def a(team):
    """After the test the arrays have their old content, and an allreduce on the same team is right."""
    a = Arrays(team)
    yield a
    team.barrier()
    team.synchronize()
    assert same(a.x, np.ones(COUNT)) and same(a.out, np.full(COUNT, 7)) and same(a.plain, np.ones(COUNT))
    assert same(a.signals, np.zeros(2))
    assert same(team.allreduce(team.full(3, team.me, "float32")), np.full(3, sum(range(team.n_pes))))


def test_dtypes_and_shapes(team, a):
    if team.backend == "host":  # CuPy has no other byte order
        for other in ("m8[s]", np.longdouble, ">f4"):
            refused(Unsupported, "convert the array", team.allreduce, np.ones(COUNT, other))
    for make in (team.empty, team.zeros, lambda n, dtype: team.full(n, 1, dtype)):
        refused(Unsupported, "convert the array", make, 4, "m8[s]")
    refused(Unsupported, "convert the array", team.array, np.ones(3, "m8[s]"))
    refused(Unsupported, "convert the array", team.kernel, lambda ctx: None, "m8[s]")
    for shape, error in (((-1,), ValueError), ((2, -3), ValueError), (None, TypeError), (1.5, TypeError)):
        refused(error, "shape", team.empty, shape)


def test_not_contiguous(team, a):
    for x in (a.x[::2], a.grid[:, 1], a.grid.T, a.grid[:2, :2]):
        refused(ValueError, "not contiguous: pass", team.allreduce, x)
        refused(ValueError, "copy the result back by x[...] = y", team.allreduce, x)  # a plain copy would lose it
        for call, other in ((team.put, 0), (team.get, 0), (team.exchange, team.me)):
            refused(ValueError, "not contiguous: pass", call, x, x, other)
    refused(ValueError, "copy the result back by x[...] = y", team.allreduce, a.x[:8], a.out[::2])
    refused(ValueError, "ascontiguousarray(x)", team.put, a.x[:8], a.out[::2], 0)


def test_in_place_where_it_means_nothing(team, a):
    refused(TypeError, "MPI.IN_PLACE is not an array", team.allreduce, a.x, MPI.IN_PLACE)
    refused(TypeError, "is not a", team.allreduce, MPI.IN_PLACE)
    refused(TypeError, "MPI.IN_PLACE is not an array", team.broadcast, MPI.IN_PLACE)
    refused(TypeError, "pass out=x[me * n : (me + 1) * n]", team.reduce_scatter, MPI.IN_PLACE, a.x)
    refused(TypeError, "MPI.IN_PLACE is not an array", team.put, a.x, MPI.IN_PLACE, 0)
    if team.n_pes > 1:
        uneven = a.out[: COUNT - 1 if (COUNT - 1) % team.n_pes else COUNT - 2]
        refused(ValueError, "not divisible by", team.all_gather, MPI.IN_PLACE, uneven)


def test_read_only_and_of_the_other_device(team, a):
    frozen = np.ones(COUNT, np.float32)
    frozen.flags.writeable = False
    host, described = team.backend == "host", Described(a.plain)
    x, other = (frozen, described) if host else (described, np.ones(COUNT, np.float32))
    refused(ValueError, "read-only", team.allreduce, x)
    refused(ValueError, "read-only", team.allreduce, a.x, x)
    refused(ValueError, "read-only", team.get, x, a.x, 0)
    refused(ValueError, "read-only", team.exchange, x, a.x, team.me)
    refused(ValueError, "read-only" if host else "copy it with", team.allreduce, bytes(16))
    for arrays in ((other,), (a.x, other)):
        refused(ValueError, f"init(backend='{'cuda' if host else 'host'}')", team.allreduce, *arrays)


@pytest.mark.parametrize("x", [[1.0, 2.0], 3, 2.5, np.float32(3), None, "four", object()], ids=lambda x: type(x).__name__)
def test_not_an_array(team, a, x):
    numbers = "for numbers call team.comm.allreduce or team.comm.bcast"
    wrong = numbers if isinstance(x, int | float | np.generic) else "is not a"
    wrong = f"x[i:i+1]; {numbers}" if isinstance(x, np.generic) else wrong
    refused(TypeError, wrong, team.allreduce, x)
    refused(TypeError, wrong, team.broadcast, x)
    for call, *args in (
        (team.put, a.x, x, 0), (team.get, x, a.x, 0), (team.exchange, a.x, x, team.me), (team.peer, x, 0),
        (team.wait_signal, x, 1),
    ):  # fmt: skip
        refused(TypeError, "is not a", call, *args)


@pytest.mark.parametrize("pe", [-1, "n_pes", 1 << 40, 1.0, True, None, "0"], ids=repr)
def test_pe(team, a, pe):
    pe = team.n_pes if pe == "n_pes" else pe
    wrong = (ValueError, "outside this team") if type(pe) is int else (TypeError, "is not an int")
    for call in (team.put, team.get):
        refused(*wrong, call, a.out, a.x, pe)
    refused(*wrong, team.put_signal, a.out, a.x, a.signals[:1], 1, pe)
    refused(*wrong, team.peer, a.x, pe)
    for form in ("packets", "put_signal", "put_fence_signal", "put_barrier"):
        refused(*wrong, team.exchange, a.out, a.x, pe, form)
    if pe is not None:
        refused(*wrong, team.wait_signal, a.signals[:1], 1, pe)


def test_names(team, a):
    for name in ("rings", "", None, 3):
        refused(ValueError, "use one of put_barrier", team.exchange, a.out, a.x, team.me, name)
        refused(ValueError, "neither 'normal' nor 'high'", team.stream, name)


def test_one_sided(team, a):
    for call, *args in (
        (team.put, a.plain, a.x, 0), (team.put_signal, a.plain, a.x, a.signals[:1], 1, 0), (team.get, a.x, a.plain, 0)
    ):  # fmt: skip
        refused(ValueError, "must be a symmetric array", call, *args)
    refused(ValueError, "takes a symmetric array", team.peer, a.plain, 0)
    for call, pe in ((team.put, 0), (team.get, 0), (team.exchange, team.me)):
        refused(ValueError, "must be alike", call, a.out, a.x[:3], pe)
        refused(ValueError, "must be alike", call, a.signals, a.x[:2], pe)
    for word in (a.signals, a.signals[:0], a.x[:1], device(team, np.zeros(1, np.uint64))):
        refused(ValueError, "team.signals(n)", team.wait_signal, word, 1)
        refused(ValueError, "team.signals(n)", team.put_signal, a.out, a.x, word, 1, 0)
    for element in (a.signals[0], a.signals[:1].reshape(())):
        refused(TypeError, "pass signals[i:i+1]", team.wait_signal, element, 1)
        refused(TypeError, "pass signals[i:i+1]", team.put_signal, a.out, a.x, element, 1, 0)
    for value in (-1, 2**62, 2**63):
        text = f"signal value {value} is outside 0..2**62-1"
        refused(ValueError, text, team.put_signal, a.x, a.x, a.signals[:1], value, team.me)
        refused(ValueError, text, team.wait_signal, a.signals[:1], value)


@pytest.mark.parametrize("stream", [7, "high", object()], ids=["int", "str", "object"])
def test_stream(team, a, stream):
    word = a.signals[:1]
    for call, *args in (
        (team.allreduce, a.x), (team.put, a.out, a.x, 0), (team.get, a.out, a.x, 0),
        (team.put_signal, a.out, a.x, word, 1, 0), (team.wait_signal, word, 1, 0), (team.exchange, a.out, a.x, team.me),
        (team.barrier,), (team.quiet,), (team.synchronize,), (team.plan_allreduce(a.x.copy()),),
    ):  # fmt: skip
        refused(TypeError, "team.stream()", call, *args, stream=stream)


def test_init(team, a):
    for comm in (3, "world", MPI.COMM_NULL):
        refused(TypeError, "pass MPI.COMM_WORLD", pennympi.init, comm)
    if team.backend == "host":
        refused(Unsupported, "use backend='host'", pennympi.init, backend="cuda")
