"""``pennympi.Comm``: the methods of mpi4py, by the team or by MPI, with the same results and errors."""

import numpy as np
import pytest
from comm_calls import check_collectives
from mpi4py import MPI

import pennympi
from pennympi.mpi import agreement
from pennympi.mpi.table import TABLE
from pennympi.settings import SettingError

N = 1000  # elements of a part


@pytest.fixture(scope="module")
def comm():
    """A communicator with its own context."""
    copy = pennympi.Comm(MPI.COMM_WORLD).Dup()
    yield copy
    copy.Free()


@pytest.mark.mpi
def test_collectives_by_the_team(comm, monkeypatch):
    """Each method gives NumPy's result, for any size."""
    monkeypatch.setenv("PENNYMPI_COMM_FROM_BYTES", "0")
    comm = comm.Dup()
    for n in (1, N):
        check_collectives(comm, n)
    size, me, root = comm.size, comm.rank, comm.size - 1
    comm.Allreduce(None, x := np.ones(N))
    assert (x == size).all()
    comm.Reduce(x, out := np.zeros(N) if me == root else None, root=root)
    assert me != root or (out == size**2).all()
    parts = [N] * size, [N * k for k in range(size)]
    comm.Alltoallv([np.repeat(np.arange(size) + 1.0, N) * me, parts], [y := np.empty(N * size), parts, MPI.DOUBLE])
    assert (y.reshape(size, N) == (np.arange(size) * (me + 1.0))[:, None]).all()
    assert comm.team.n_pes == size
    comm.Free()


@pytest.mark.mpi
def test_what_goes_by_mpi(comm):
    """MPI takes small messages, ops and types that the team does not have, and arguments that it refuses."""
    small = np.ones(TABLE["Allreduce"].from_bytes // 16)
    comm.Allreduce(MPI.IN_PLACE, small)
    assert (small == comm.size).all()
    bits = np.full(N, 1 << comm.rank, "int32")
    comm.Allreduce(MPI.IN_PLACE, bits, op=MPI.BOR)
    assert (bits == (1 << comm.size) - 1).all()
    long = np.ones(N, np.longdouble)
    comm.Allreduce(MPI.IN_PLACE, long)
    assert (long == comm.size).all()
    with pytest.raises((MPI.Exception, ValueError)):
        comm.Allreduce(np.ones(N), np.ones(N + 1))
    with pytest.raises(TypeError):
        comm.Allreduce(np.ones(N))


@pytest.mark.mpi
def test_small_messages_go_by_mpi_though_the_program_has_asked_for_the_team(comm):
    copy = comm.Dup()
    control = copy.team._job.control
    before = control.recent().number
    copy.Bcast(np.ones(1))
    copy.Allreduce([np.ones(1), 1, MPI.DOUBLE], [np.ones(1), MPI.DOUBLE])
    assert comm.allgather(control.recent().number - before) == [0] * comm.size
    copy.Free()


@pytest.mark.mpi
def test_sizes_that_differ_by_rank(comm):
    """All ranks choose the same way if one has a small part of the result, or a result that it does not need."""
    n = TABLE["Reduce_scatter"].from_bytes // 8
    counts = [1] * (comm.size - 1) + [n]
    out = np.empty(counts[comm.rank])
    comm.Reduce_scatter(np.ones(sum(counts)), out, counts)
    assert (out == comm.size).all()
    out = np.empty(n if comm.rank == 0 else 1)
    comm.Reduce(np.ones(n), out)
    assert comm.rank or (out == comm.size).all()
    small = comm.Dup()  # a communicator without a team
    x = np.ones(1)
    small.Reduce(None if comm.rank == 0 else x, x)
    assert comm.rank or x == comm.size
    small.Free()


@pytest.mark.mpi
def test_what_is_made_of_it(comm):
    """Dup, Split, Create and Create_cart return a Comm with its own team; a rank outside gets COMM_NULL."""
    half = comm.Split(comm.rank % 2, comm.rank)
    assert type(half) is type(comm.Dup()) is pennympi.Comm
    half.Allreduce(MPI.IN_PLACE, x := np.ones(1 << 16))
    assert (x == half.size).all() and half.team.n_pes == half.size
    half.Free()
    line = comm.Create_cart([comm.size])
    assert isinstance(line, pennympi.Comm) and isinstance(line.Sub([True]), pennympi.Comm) and line.dims == [comm.size]
    line.Allreduce(MPI.IN_PLACE, x := np.ones(1 << 16))
    assert (x == comm.size).all()
    line.Free()
    first = comm.Create(comm.group.Incl([0]))
    assert (first == MPI.COMM_NULL) == (comm.rank != 0)


@pytest.mark.mpi
@pytest.mark.parametrize("fault", [TypeError, ValueError, LookupError, BufferError, pennympi.Unsupported])
def test_a_fault_of_the_library_is_raised(comm, monkeypatch, fault):
    """If the team's call fails, no rank falls back to MPI."""

    def failing(*args, **named):
        raise fault("a planted fault")

    monkeypatch.setattr(type(comm.team), "broadcast", failing)
    monkeypatch.setattr(type(comm.team), "allreduce", failing)
    x = [np.ones(1 << 12), MPI.DOUBLE]
    with pytest.raises(fault, match="planted"):
        comm.Bcast(x)
    with pytest.raises(fault, match="planted"):
        comm.Allreduce(MPI.IN_PLACE, x)


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize("value, text", [("1k", "1k on PE 0 and 64k on"), ("many", "'many' cannot be used")])
def test_a_threshold_that_differs_by_rank_or_is_wrong_on_one(comm, monkeypatch, value, text):
    """All ranks raise the error before their ways differ."""
    copy = comm.Dup()
    monkeypatch.setenv("PENNYMPI_COMM_FROM_BYTES", "64k" if comm.rank else value)
    with pytest.raises(SettingError, match=f"PENNYMPI_COMM_FROM_BYTES.*{text}"):
        copy.Bcast(np.ones(1 << 12))
    copy.Free()


@pytest.mark.mpi(min_size=2)
def test_ranks_ask_alike_where_arrays_lie(comm, monkeypatch):
    """Where one rank has CuPy they ask after 1, 1, 2, 4 and so on further calls, however each writes its message."""
    monkeypatch.setattr(agreement, "HAS_CUPY", comm.rank == 0)
    copy, asked = comm.Dup(), []
    plain = agreement.Agreement._any_on_gpu
    monkeypatch.setattr(agreement.Agreement, "_any_on_gpu", lambda *args: asked.append(len(calls)) or plain(*args))
    calls = []
    for k in range(20):
        calls.append(k)
        x = np.full(2, 1.0)
        copy.Bcast([x, "d"] if k % 3 == comm.rank else x)
        copy.Allreduce(MPI.IN_PLACE, x) if k % 2 else None
        assert (x == (comm.size if k % 2 else 1)).all()
    copy.Free()
    assert comm.allgather(asked) == [asked] * comm.size and 3 < len(asked) < 8, asked
