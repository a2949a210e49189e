"""Collectives of arrays that lie on GPUs on some ranks or on all, each beside NumPy.      Prints "right".

On CPUs, with what stands in for CuPy: by a team on CPUs from PENNYMPI_COMM_FROM_BYTES on, else by MPI on copies.
"""

import warnings

import cupy
import numpy as np
from comm_calls import check, check_collectives
from mpi4py import MPI

import pennympi
from pennympi.mpi.flat import Flat
from pennympi.mpi.message import message_of, parts_of

warnings.simplefilter("ignore")  # of copies in memory of the host
comm = pennympi.Comm(MPI.COMM_WORLD)
me, size = comm.rank, comm.size
SPACED = MPI.DOUBLE.Create_resized(0, 16).Commit()


def with_gaps(n, module, module_of_out):
    """A result with gaps, and a collective that no team has.  n: elements of a part"""
    x, gathered = module.asarray(np.arange(n) + 1000.0 * me), np.add.outer(1000.0 * np.arange(size), np.arange(n)).ravel()
    comm.Allgatherv(x, [out := module_of_out.asarray(np.full(2 * n * size, -1.0)), [n] * size, None, SPACED])
    check(out[::2], gathered)
    check(out[1::2], np.full(n * size, -1.0))
    comm.Gather(x, out := module_of_out.asarray(np.full(n * size, -1.0)), 0)
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
    for module, module_of_out in ((np, cupy), (cupy, np)) if me == 0 else ((cupy, cupy),) * 2:
        check_collectives(comm, n, module, module_of_out)
        with_gaps(n, module, module_of_out)
    begun(n)
flat_arrays_on_a_gpu()
print("right\n", end="", flush=True)
