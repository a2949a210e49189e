"""``pennympi.Comm`` with CuPy's arrays: by the team, or by MPI with copies in memory of the host."""

import numpy as np
import pytest
from comm_calls import check_collectives
from mpi4py import MPI

import pennympi

cupy = pytest.importorskip("cupy")
N = 1000
pytestmark = [
    pytest.mark.mpi,
    pytest.mark.skipif(not cupy.cuda.is_available(), reason="no GPU"),
    pytest.mark.filterwarnings("ignore:.*goes through memory of the host"),
]


@pytest.fixture(scope="module")
def comm():
    """A communicator with its own context; each rank has chosen the GPU of its number on the node."""
    node = MPI.COMM_WORLD.Split_type(MPI.COMM_TYPE_SHARED)
    cupy.cuda.Device(node.rank % cupy.cuda.runtime.getDeviceCount()).use()
    node.Free()
    copy = pennympi.Comm(MPI.COMM_WORLD).Dup()
    yield copy
    copy.Free()


def full(value, n=N):
    return cupy.full(n, value, "float64")


@pytest.mark.parametrize("op", [MPI.SUM, MPI.MAX])
def test_allreduce(comm, op):
    """Blocking, in-place, non-blocking and persistent calls, the last of them three times with new data."""
    want = sum(range(1, comm.size + 1)) if op == MPI.SUM else comm.size
    x, out = full(comm.rank + 1), full(0)
    comm.Allreduce(x, out, op)
    assert (out == want).all()
    comm.Allreduce(MPI.IN_PLACE, out, op)
    assert (out == want * (comm.size if op == MPI.SUM else 1)).all()
    out[:] = 0
    comm.Iallreduce(x, out, op).Wait()
    assert (out == want).all()
    call = comm.Allreduce_init(x, out, op)
    for factor in (1, 2, 3):
        x[:] = factor * (comm.rank + 1)
        call.Start()
        MPI.Request.Waitall([call])
        assert (out == factor * want).all()
    call.Free()


def test_methods_on_copies(comm):
    """Gather, a scan, each kind of point-to-point call, and an operator that the team does not have."""
    me, n_pes, last = comm.rank, comm.size, comm.size - 1
    x = full(me + 1)
    gathered = full(0, N * n_pes) if me == last else None
    comm.Gather(x, gathered, root=last)
    assert me != last or (gathered.reshape(n_pes, N)[:, 0] == cupy.arange(1, n_pes + 1)).all()
    sums = full(0)
    comm.Iscan(x, sums).Wait()
    assert (sums == (me + 1) * (me + 2) / 2).all()
    came = full(0)
    comm.Sendrecv(x, (me + 1) % n_pes, recvbuf=came, source=(me - 1) % n_pes)
    assert (came == (me - 1) % n_pes + 1).all()
    status = MPI.Status()
    came, requests = full(0, N + 7), []
    requests.append(comm.Irecv(came, (me - 1) % n_pes, 5))
    requests.append(comm.Isend(x, (me + 1) % n_pes, 5))
    requests.pop(0).Wait(status)
    MPI.Request.Waitall(requests)
    assert (came[:N] == (me - 1) % n_pes + 1).all() and (came[N:] == 0).all()
    assert (status.source, status.tag, status.Get_count(MPI.DOUBLE)) == ((me - 1) % n_pes, 5, N)
    came = full(0)
    comm.Sendrecv([x, 3, MPI.DOUBLE], (me + 1) % n_pes, recvbuf=[came, 5, MPI.DOUBLE], source=(me - 1) % n_pes)
    comm.Send([x, 0, MPI.DOUBLE], MPI.PROC_NULL)
    assert (came[:3] == (me - 1) % n_pes + 1).all() and (came[3:] == 0).all()
    bits = cupy.full(N, 1 << me, "int32")
    comm.Allreduce(MPI.IN_PLACE, bits, MPI.BOR)
    assert (bits == (1 << n_pes) - 1).all()
    with pytest.raises(pennympi.Unsupported):
        comm.Psend_init(x, 1, 0)


def test_a_part_without_elements(comm):
    """A rank whose part has no elements chooses the way of the others."""
    counts = [N if rank % 2 == 0 else 0 for rank in range(comm.size)]
    out = full(0, sum(counts))
    comm.Allgatherv(full(comm.rank + 1, counts[comm.rank]), [out, counts])
    assert (out == cupy.asarray(np.repeat(np.arange(1.0, comm.size + 1), counts))).all()


def test_a_grid(comm):
    """A communicator with a topology runs collectives on a team, and exchanges with neighbours with copies."""
    ring = comm.Create_cart([comm.size], periods=[True])
    came = full(0, 2 * N)
    ring.Neighbor_allgather(full(ring.rank + 1), came)
    assert (came[:N] == (ring.rank - 1) % ring.size + 1).all() and (came[N:] == (ring.rank + 1) % ring.size + 1).all()
    ring.Allreduce(MPI.IN_PLACE, x := full(1))
    assert (x == ring.size).all()
    ring.Free()


def test_arrays_of_the_host_go_by_mpi(comm):
    """Arrays of any size on the host, if no rank passes an array on a GPU."""
    for n in (1, 1 << 17):
        x, ranks = np.full(n, float(comm.rank)), np.empty((comm.size, n))
        comm.Allreduce(x + 1, out := np.empty(n))
        comm.Allgather([x, n, MPI.DOUBLE], [ranks, n, MPI.DOUBLE])
        assert (out == sum(range(1, comm.size + 1))).all()
        assert (ranks == np.arange(comm.size)[:, None]).all()


@pytest.mark.parametrize("has_team", [True, False])
@pytest.mark.parametrize("n", [1, 1 << 14])
@pytest.mark.parametrize("first_on_host", [True, False])
def test_ranks_whose_arrays_lie_in_different_places(comm, has_team, n, first_on_host):
    """Arrays of rank 0 on the host, the others' on GPUs, or the reverse; then a rank's sendbuf and recvbuf differ."""
    copy = comm.Dup()
    if has_team:
        copy.team  # noqa: B018
    on_host = (comm.rank == 0) == first_on_host
    for module, module_of_out in ((np, np), (np, cupy), (cupy, np)) if on_host else ((cupy, cupy),) * 3:
        check_collectives(copy, n, module, module_of_out)
    copy.Free()
