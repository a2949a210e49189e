"""Symmetric arrays: their making, their end, and a full heap."""

import ml_dtypes
import numpy as np
import pytest
from on_device import same, to_numpy
from refused import refused

import pennympi
from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.job.job import open_jobs

pytestmark = [pytest.mark.mpi, pytest.mark.hosts(most_pes=8)]


def usable(team):
    x = team.full(17, 1, "int32")
    assert same(team.allreduce(x), np.full(17, team.n_pes))
    team.free(x)


SHAPES = [0, 1, 1000, (), (0,), (3, 0, 2), (4, 5), [2, 3], np.int64(6), (np.int32(2), 2)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes(team, shape):
    sizes = (int(shape),) if isinstance(shape, int | np.integer) else tuple(int(n) for n in shape)
    x, y, z = team.empty(shape, "float32"), team.zeros(shape, "int8"), team.full(shape, 3, "uint16")
    assert x.shape == y.shape == z.shape == sizes
    assert (x.dtype, y.dtype, z.dtype) == (np.float32, np.int8, np.uint16)
    assert same(y, np.zeros(sizes)) and same(z, np.full(sizes, 3))


def test_dtypes_that_nobody_names(team):
    """The default dtype is that of NumPy and CuPy: float64, or that of the value."""
    made = [team.empty(3), team.zeros(3), team.full(3, 0.5)]
    assert [x.dtype for x in made] == [np.float64] * 3
    assert same(made[1], np.zeros(3)) and same(made[2], np.full(3, 0.5))
    for value in (team.me, True, 1j, np.float32(1), np.uint8(3), ml_dtypes.bfloat16(2)):
        made.append(team.full(3, value))
        wanted = np.full(3, value)
        assert made[-1].dtype == wanted.dtype and same(made[-1], wanted)
    for wrong in ("1", object(), [1, 2]):
        refused(TypeError, "is not a number", team.full, 3, wrong)
    if team.n_pes > 1:
        refused(ValueError, "ask for the same symmetric array", team.full, 3, 1 if team.me else 1.0)


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes(team, name):
    dtype = DTYPES[name].numpy
    values = np.arange(30).reshape(5, 6).astype(dtype)
    made = [team.array(values), team.array(values, name), team.array(values.tolist(), dtype)]
    made.append(team.array(np.asfortranarray(values)))
    for x in made:
        assert x.dtype == dtype and same(x, values)
    five = team.full((2, 2), 5, dtype)
    assert same(five, np.full((2, 2), 5))


def test_array_of_other_things(team):
    made = [team.array([1.5, team.me]), team.array(7, "int64"), team.array(np.arange(9)[::2], "float16")]
    assert made[0].dtype == np.float64 and to_numpy(made[0]).tolist() == [1.5, team.me]
    assert made[1].shape == () and to_numpy(made[1]) == 7
    assert same(made[2], [0, 2, 4, 6, 8])
    made.append(team.array(made[2]))  # an array of the device
    assert same(made[3], [0, 2, 4, 6, 8])


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize("odd", ["shape", "dtype"])
def test_pes_that_differ(team, odd):
    last = team.me == team.n_pes - 1
    shape, dtype = (8 if odd == "shape" and last else 7), ("int8" if odd == "dtype" and last else "int16")
    refused(ValueError, r"the same symmetric array: .*\(7,\) int16 in 14 bytes", team.empty, shape, dtype)
    usable(team)


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize("odd", ["gather", "free"])
def test_pes_that_meet_for_different_things(team, odd):
    """Every PE gets an error that names both calls; afterwards the PEs can meet again."""
    arrays, last = [team.zeros(3, "float32") for _ in range(2)], team.me == team.n_pes - 1
    calls = {"gather": lambda: team.gather(1), "free": lambda: team.free(arrays[1])}
    text = r"free of .* in gather \(call " if odd == "gather" else r" array \d+ \(call .* array \d+ \(call "
    refused(pennympi.CollectiveMismatchError, text, *((calls[odd],) if last else (team.free, arrays[0])))
    for array in arrays:
        team.free(array)
    usable(team)


def test_a_full_heap(team):
    heap_bytes = 128 << 20 if team.backend == "host" else None
    with pennympi.init(team.comm, heap_bytes=heap_bytes) as small:
        wanted = 1 << 27 if team.backend == "host" else 1 << 41
        kept = small.full(1000, small.me, "int64")
        for _ in range(2):
            remedy = f"cannot give {'128 MiB' if team.backend == 'host' else '2 TiB'} on every PE: .* free; free arrays"
            with pytest.raises(pennympi.SymmetricHeapExhausted, match=remedy) as error:
                small.empty(wanted, "uint8")
            assert isinstance(error.value, MemoryError) and error.value.requested_bytes == wanted
            assert 0 < error.value.free_bytes < wanted
        half = small.full(1 << 20, 9, "uint8")
        assert same(half[-3:], [9, 9, 9]) and same(kept, np.full(1000, small.me))
        small.free(half)
        for _ in range(300):  # each of 1 MiB
            small.free(small.empty(1 << 20, "uint8"))
        usable(small)


def test_a_heap_that_is_too_small_for_a_team(team):
    """Not even the words of the team fit: every PE gets an error, and the next team is not affected."""
    if team.backend != "host":
        pytest.skip("the heap of NVSHMEM grows")
    jobs = len(open_jobs)
    for _ in range(2):
        with pytest.raises(pennympi.SymmetricHeapExhausted, match="free arrays, or ask for more by init.heap_bytes"):
            pennympi.init(team.comm, heap_bytes=4096)
        assert len(open_jobs) == jobs
    with pennympi.init(team.comm, heap_bytes=128 << 20) as small:
        usable(small)


def test_frees_that_are_refused(team):
    x = team.zeros(10, "float32")
    for wrong in (x[1:], x[:], x.reshape(2, 5), np.zeros(10, np.float32), None):
        refused(ValueError, "takes the array that empty.* returned, once; not a view", team.free, wrong)
    team.free(x)
    refused(ValueError, "once; not a view", team.free, x)
    usable(team)


def test_signals_are_zero_each_time(team):
    for _ in range(3):
        signals = team.signals(5)
        assert signals.dtype == np.uint64 and same(signals, np.zeros(5))
        team.put_signal(signals[:0], signals[:0], signals[3:4], 7, team.me)
        team.wait_signal(signals[3:4], 7)
        team.free(signals)
