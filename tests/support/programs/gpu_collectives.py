"""Collectives of arrays that lie on GPUs on some ranks or on all, each beside NumPy.      Prints "right".

On CPUs, with what stands in for CuPy: by a team on CPUs from PENNYMPI_COMM_FROM_BYTES on, else by MPI on copies.
"""

import warnings

import cupy
import numpy as np
from mpi4py import MPI

import pennympi
from pennympi.mpi.flat import Flat
from pennympi.mpi.message import message_of, parts_of

warnings.simplefilter("ignore")  # of copies in memory of the host
comm = pennympi.Comm(MPI.COMM_WORLD)
me, size = comm.rank, comm.size
SPACED = MPI.DOUBLE.Create_resized(0, 16).Commit()


def check(array, want):
    """array: of NumPy or CuPy"""
    host = array if isinstance(array, np.ndarray) else array.get()
    assert np.array_equal(host, want), (host[:9], want[:9])


def each(n, module_of_x, module_of_out):
    """n: elements of a part"""
    data = [np.arange(n * size) + 1000.0 * rank for rank in range(size)]
    total, x = sum(data), module_of_x.asarray(data[me].copy())
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
    comm.Alltoall(x, out := new())
    check(out, moved)
    comm.Alltoallv([x, [n] * size], [out := new(), [n] * size])
    check(out, moved)
    starts = [2 * n * (size - 1 - rank) + 1 for rank in range(size)]
    comm.Allgatherv(x[:n], [out := new(2 * n * size + 1), ([n] * size, starts), MPI.DOUBLE])
    want = np.full(2 * n * size + 1, -1.0)
    for rank, start in enumerate(starts):
        want[start : start + n] = data[rank][:n]
    check(out, want)
    comm.Allgatherv(x[:n], [out := new(2 * n * size), [n] * size, None, SPACED])
    check(out[::2], gathered)
    check(out[1::2], np.full(n * size, -1.0))
    comm.Bcast([y := module_of_x.asarray(data[me].copy()), n, MPI.DOUBLE], size - 1)
    check(y, np.concatenate([data[-1][:n], data[me][n:]]))
    comm.Gather(x[:n], out := new(), 0)
    check(out, gathered if me == 0 else np.full(n * size, -1.0))


def begun(n):
    x, out = cupy.full(n, me + 1.0), cupy.zeros(n)
    comm.Iallreduce(x, out).Wait()
    check(out, np.full(n, size * (size + 1) / 2))
    calls = [comm.Scan_init(x, out)]
    for factor in (1, 2):
        x[:] = factor * (me + 1.0)
        calls[0].Startall(calls)
        MPI.Request.Waitall(calls)
        check(out, np.full(n, factor * (me + 1) * (me + 2) / 2))
    calls[0].Free()


def flat_arrays_on_a_gpu():
    """Messages of the host for a team on GPUs: what the call writes comes back, and nothing else."""
    x = np.arange(12.0)
    flat = Flat(True)
    array = flat.result(parts_of([x, [2, 0, 3], [1, 99, 6], MPI.DOUBLE], 3))
    check(array.view("float64"), np.arange(1.0, 9))
    array.view("float64")[:] = -1.0
    x[4] = 44
    flat.put_back()
    check(x, np.array([0, -1, -1, 3, 44, 5, -1, -1, -1, 9, 10, 11.0]))
    y = np.full(6, 7.0)
    flat = Flat(True)
    flat.updated(message_of([y, (2, 1), SPACED])).view("float64")[:] = 5.0
    flat.put_back()
    check(y, np.array([7, 7, 5, 7, 5, 7.0]))


for n in (1, 3000):
    each(n, *((np, cupy) if me == 0 else (cupy, cupy)))
    each(n, *((cupy, np) if me == 0 else (cupy, cupy)))
    begun(n)
flat_arrays_on_a_gpu()
print("right\n", end="", flush=True)
