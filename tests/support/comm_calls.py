"""Each collective of ``pennympi.Comm`` beside NumPy, of arrays of NumPy or CuPy."""

import numpy as np
from mpi4py import MPI


def check(array, want):
    host = array if isinstance(array, np.ndarray) else array.get()
    assert np.array_equal(host, want), (host[:9], want[:9])


def check_collectives(comm, n, module=np, module_of_out=np):
    """Out of place and in place, with MPI's positions in the result.

    n: elements of a part;  module: of what is sent;  module_of_out: of what is received
    """
    me, size = comm.rank, comm.size
    data = [np.arange(n * size) + 1000.0 * rank for rank in range(size)]
    total, x = sum(data), module.asarray(data[me].copy())
    own, gathered = total[me * n : (me + 1) * n], np.concatenate([part[:n] for part in data])
    moved = np.concatenate([part[me * n : (me + 1) * n] for part in data])

    def new(n_elems=n * size):
        array = module_of_out.zeros(n_elems)
        array[:] = -1.0
        return array

    comm.Allreduce(x, out := new())
    check(out, total)
    comm.Allreduce([x, MPI.DOUBLE], [out := new(), n * size, MPI.DOUBLE])
    check(out, total)
    comm.Allreduce(MPI.IN_PLACE, out := module_of_out.asarray(data[me].copy()))
    check(out, total)
    comm.Reduce(x, out := new(), root=size - 1)
    check(out, total if me == size - 1 else np.full(n * size, -1.0))
    comm.Reduce_scatter_block(x, out := new(n))
    check(out, own)
    comm.Reduce_scatter_block(MPI.IN_PLACE, out := module_of_out.asarray(data[me].copy()))
    check(out[:n], own)
    comm.Reduce_scatter(x, out := new(n), [n] * size)
    check(out, own)
    comm.Allgather(x[:n], out := new())
    check(out, gathered)
    comm.Allgatherv(x[:n], [out := new(), [n] * size])
    check(out, gathered)
    starts = [2 * n * (size - 1 - rank) + 1 for rank in range(size)]
    comm.Allgatherv(x[:n], [out := new(2 * n * size + 1), ([n] * size, starts), MPI.DOUBLE])
    want = np.full(2 * n * size + 1, -1.0)
    for rank, start in enumerate(starts):
        want[start : start + n] = data[rank][:n]
    check(out, want)
    comm.Alltoall(x, out := new())
    check(out, moved)
    comm.Alltoallv([x, [n] * size], [out := new(), [n] * size])
    check(out, moved)
    comm.Bcast([out := module.asarray(data[me].copy()), n, MPI.DOUBLE], size - 1)
    check(out, np.concatenate([data[-1][:n], data[me][n:]]))
    comm.Bcast(x)
    check(x, data[0])
