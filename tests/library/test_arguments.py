"""Bad arguments: one clear error that names the remedy, on every PE, before anything is sent; the team stays usable."""

import numpy as np
import pytest
from mpi4py import MPI
from on_device import device, same, to_numpy

import pennympi
from pennympi import Unsupported

pytestmark = pytest.mark.mpi

COUNT = 16
heard = []  # what was wrong with each refusal of the running test


class Arrays:
    """What the calls below are made with."""

    def __init__(self, team):
        self.x, self.out = team.full(COUNT, 1, "float32"), team.full(COUNT, 7, "float32")
        self.grid = team.zeros((4, 4), "float32")
        self.signals = team.signals(2)
        self.plain = device(team, np.ones(COUNT, np.float32))
        self.owned = (self.x, self.out, self.grid, self.signals)


class Described:
    """Only __cuda_array_interface__, and read-only."""

    def __init__(self, x):
        self.kept = x
        if hasattr(x, "__cuda_array_interface__"):
            self.__cuda_array_interface__ = x.__cuda_array_interface__ | {"data": (x.data.ptr, True)}
        else:
            address = x.ctypes.data
            self.__cuda_array_interface__ = {"shape": x.shape, "typestr": "<f4", "data": (address, True), "version": 3}


@pytest.fixture(scope="module")
def a(team):
    arrays = Arrays(team)
    yield arrays
    for x in arrays.owned:
        team.free(x)


@pytest.fixture(autouse=True)
def nothing_sent_and_still_usable(team, a):
    """After each test: the arrays hold what they held, and an allreduce on the same team is right."""
    heard.clear()
    yield
    for pe, wrong in enumerate(team.gather([text for text in heard if text])):
        assert not wrong, f"PE {pe}: {wrong}"
    team.barrier()
    team.synchronize()
    assert same(a.x, np.ones(COUNT)) and same(a.out, np.full(COUNT, 7)) and same(a.plain, np.ones(COUNT))
    assert same(a.signals, np.zeros(2))
    x = team.full(3, team.me, "float32")
    team.allreduce(x)
    assert same(x, np.full(3, sum(range(team.n_pes)))), to_numpy(x)
    team.free(x)


def bad(team, error, match, call, *args, **named):
    """The call raises this error; the fixture above compares notes with the other PEs."""
    said = ""
    try:
        call(*args, **named)
    except error as caught:
        said = str(caught)
    right = match in said and "\n" not in said
    heard.append("" if right else f"{call.__name__} said {said!r} and not {error} with {match!r}")


def both(team, error, match, *args, **named):
    """For allreduce and for its plan."""
    bad(team, error, match, team.allreduce, *args, **named)
    bad(team, error, match, team.plan_allreduce, *args, **named)


def test_dtype(team, a):
    if team.backend == "host":  # CuPy has no other
        both(team, Unsupported, "convert the array", np.ones(COUNT, "m8[s]"))
        both(team, Unsupported, "convert the array", np.ones(COUNT, np.longdouble))
    for make in (team.empty, team.zeros):
        bad(team, Unsupported, "convert the array", make, 4, "m8[s]")
    bad(team, Unsupported, "convert the array", team.full, 4, 1, "no_such")
    bad(team, Unsupported, "convert the array", team.array, np.ones(3, "m8[s]"))
    bad(team, Unsupported, "convert the array", team.kernel, lambda ctx: None, "m8[s]")


def test_byte_order(team, a):
    if team.backend == "cuda":
        pytest.skip("CuPy has no arrays of the other byte order")
    both(team, Unsupported, "convert the array", np.ones(COUNT, ">f4"))


def test_shape(team, a):
    for shape, error in (((-1,), ValueError), ((2, -3), ValueError), (None, TypeError), (1.5, TypeError)):
        bad(team, error, "shape", team.empty, shape)


def test_not_contiguous(team, a):
    for x in (a.x[::2], a.grid[:, 1], a.grid.T, a.grid[:2, :2]):
        both(team, ValueError, "not contiguous: pass", x)
        bad(team, ValueError, "not contiguous: pass", team.put, x, x, 0)
        bad(team, ValueError, "not contiguous: pass", team.get, x, x, 0)
        bad(team, ValueError, "not contiguous: pass", team.exchange, x, x, team.me)
        both(team, ValueError, "copy the result back by x[...] = y", x)  # in place, a copy alone would lose it
    both(team, ValueError, "copy the result back by x[...] = y", a.x[:8], a.out[::2])
    bad(team, ValueError, "ascontiguousarray(x)", team.put, a.x[:8], a.out[::2], 0)


def test_in_place_where_it_means_nothing(team, a):
    both(team, TypeError, "MPI.IN_PLACE is not an array", a.x, MPI.IN_PLACE)
    both(team, TypeError, "is not a", MPI.IN_PLACE)
    for call in (team.broadcast, team.plan_broadcast):
        bad(team, TypeError, "MPI.IN_PLACE is not an array", call, MPI.IN_PLACE)
    for call in (team.reduce_scatter, team.plan_reduce_scatter):
        bad(team, TypeError, "pass out=x[me * n : (me + 1) * n]", call, MPI.IN_PLACE, a.x)
    bad(team, TypeError, "MPI.IN_PLACE is not an array", team.put, a.x, MPI.IN_PLACE, 0)
    if team.n_pes > 1:
        uneven = a.out[: COUNT - 1 if (COUNT - 1) % team.n_pes else COUNT - 2]
        bad(team, ValueError, "not divisible by", team.all_gather, MPI.IN_PLACE, uneven)


def test_read_only(team, a):
    if team.backend == "host":
        x = np.ones(COUNT, np.float32)
        x.flags.writeable = False
    else:
        x = Described(a.plain)
    both(team, ValueError, "read-only", x)
    both(team, ValueError, "read-only", a.x, x)
    bad(team, ValueError, "read-only", team.get, x, a.x, 0)
    bad(team, ValueError, "read-only", team.exchange, x, a.x, team.me)


def test_read_only_bytes(team, a):
    both(team, ValueError, "read-only" if team.backend == "host" else "copy it with", bytes(16))


def test_array_of_the_other_device(team, a):
    if team.backend == "host":
        both(team, ValueError, "init(backend='cuda')", Described(a.plain))
        both(team, ValueError, "init(backend='cuda')", a.x, Described(a.plain))
    else:
        both(team, ValueError, "init(backend='host')", np.ones(COUNT, np.float32))
        both(team, ValueError, "init(backend='host')", a.x, np.ones(COUNT, np.float32))


@pytest.mark.parametrize("x", [[1.0, 2.0], 3, 2.5, np.float32(3), None, "four", object()], ids=lambda x: type(x).__name__)
def test_not_an_array(team, a, x):
    bad(team, TypeError, "is not a", team.plan_allreduce, x)
    numbers = "for numbers call team.comm.allreduce or team.comm.bcast"
    wrong = numbers if isinstance(x, int | float | np.generic) else "is not a"
    bad(team, TypeError, wrong, team.allreduce, x)
    bad(team, TypeError, wrong, team.broadcast, x)
    bad(team, TypeError, "is not a", team.put, a.x, x, 0)
    bad(team, TypeError, "is not a", team.get, x, a.x, 0)
    bad(team, TypeError, "is not a", team.exchange, a.x, x, team.me)
    bad(team, TypeError, "is not a", team.peer, x, 0)
    bad(team, TypeError, "is not a", team.wait_signal, x, 1)


@pytest.mark.parametrize("pe", [-1, "n_pes", 1 << 40, 1.0, 0.0, True, None, "0"], ids=repr)
def test_pe(team, a, pe):
    pe = team.n_pes if pe == "n_pes" else pe
    error = ValueError if type(pe) is int else TypeError
    match = "outside this team" if error is ValueError else "is not an int"
    bad(team, error, match, team.put, a.out, a.x, pe)
    bad(team, error, match, team.get, a.out, a.x, pe)
    bad(team, error, match, team.put_signal, a.out, a.x, a.signals[:1], 1, pe)
    bad(team, error, match, team.peer, a.x, pe)
    for form in ("put_signal", "put_fence_signal", "put_barrier"):
        bad(team, error, match, team.exchange, a.out, a.x, pe, form)
    if pe is not None:
        bad(team, error, match, team.wait_signal, a.signals[:1], 1, pe)


def test_names(team, a):
    for name in ("rings", "", None, 3):
        both(team, ValueError, "use auto, ring", a.x, algorithm=name)
        bad(team, ValueError, "use one of put_barrier", team.exchange, a.out, a.x, team.me, name)
        bad(team, ValueError, "neither 'normal' nor 'high'", team.stream, name)
    for op in ("SUM", "", None, 3, sum, MPI.BAND, MPI.LAND, MPI.MAXLOC):
        both(team, ValueError, "use one of sum, prod, min, max, avg", a.x, op=op)


def test_one_sided(team, a):
    bad(team, ValueError, "must be a symmetric array", team.put, a.plain, a.x, 0)
    bad(team, ValueError, "must be a symmetric array", team.put_signal, a.plain, a.x, a.signals[:1], 1, 0)
    bad(team, ValueError, "must be a symmetric array", team.get, a.x, a.plain, 0)
    bad(team, ValueError, "takes a symmetric array", team.peer, a.plain, 0)
    for call in (team.put, team.get):
        bad(team, ValueError, "must be alike", call, a.out, a.x[:3], 0)
        bad(team, ValueError, "must be alike", call, a.signals, a.x[:2], 0)
    bad(team, ValueError, "must be alike", team.exchange, a.out, a.x[:3], team.me)
    bad(team, ValueError, "must be alike", team.exchange, a.out, a.signals, team.me)


def test_signal(team, a):
    for word in (a.signals, a.signals[:0], a.x[:1], device(team, np.zeros(1, np.uint64))):
        bad(team, ValueError, "team.signals(n)", team.wait_signal, word, 1)
        bad(team, ValueError, "team.signals(n)", team.put_signal, a.out, a.x, word, 1, 0)


@pytest.mark.parametrize("stream", [7, "high", object()], ids=["int", "str", "object"])
def test_stream(team, a, stream):
    word = a.signals[:1]
    bad(team, TypeError, "team.stream()", team.allreduce, a.x, stream=stream)
    bad(team, TypeError, "team.stream()", team.plan_allreduce(a.x.copy()), stream)
    bad(team, TypeError, "team.stream()", team.put, a.out, a.x, 0, stream)
    bad(team, TypeError, "team.stream()", team.get, a.out, a.x, 0, stream)
    bad(team, TypeError, "team.stream()", team.put_signal, a.out, a.x, word, 1, 0, stream)
    bad(team, TypeError, "team.stream()", team.wait_signal, word, 1, 0, stream)
    bad(team, TypeError, "team.stream()", team.exchange, a.out, a.x, team.me, stream=stream)
    for call in (team.barrier, team.quiet, team.synchronize):
        bad(team, TypeError, "team.stream()", call, stream)


def test_init(team, a):
    for comm in (3, "world", MPI.COMM_NULL):
        bad(team, TypeError, "pass MPI.COMM_WORLD", pennympi.init, comm)
    bad(team, ValueError, "use 'auto', 'host' or 'cuda'", pennympi.init, backend="gpu")
    bad(team, ValueError, "is not positive", pennympi.init, backend=team.backend, heap_bytes=-1)
    if team.backend == "host":
        bad(team, Unsupported, "use backend='host'", pennympi.init, backend="cuda")
