"""Times in us of messages of CuPy's arrays between two ranks by ``pennympi.Comm``, with an MPI that is not CUDA-aware.

mpirun -np 2 python benchmarks/messages.py [FILE.json]
"""

import json
import statistics
import sys
import time
from pathlib import Path

import cupy
import mpi4py
import numpy
from mpi4py import MPI

import pennympi

WINDOW = 16
comm = pennympi.Comm(MPI.COMM_WORLD)
me, peer = comm.rank, 1 - comm.rank
cupy.cuda.Device(me % cupy.cuda.runtime.getDeviceCount()).use()
comm.Barrier()


def half_round_trip(x, y):
    """Send a message and receive one of the same size: twice the time of a message."""
    if me == 0:
        comm.Send(x, peer)
        comm.Recv(y, peer)
    else:
        comm.Recv(y, peer)
        comm.Send(x, peer)


def sendrecv(x, y):
    comm.Sendrecv(x, peer, 0, y, peer, 0)


def window(x, y):
    """Send and receive WINDOW messages, completed by MPI's Waitall: WINDOW times the time of a message."""
    receives = [comm.Irecv(y, peer, k) for k in range(WINDOW)]
    MPI.Request.Waitall(receives + [comm.Isend(x, peer, k) for k in range(WINDOW)])


def timed(call, x, y, repeats):
    """The median of five times of the slower rank, in us."""
    times_us = []
    for _ in range(5):
        comm.Barrier()
        start_s = time.perf_counter()
        for _ in range(repeats):
            call(x, y)
        times_us.append(comm.allreduce((time.perf_counter() - start_s) / repeats * 1e6, MPI.MAX))
    return statistics.median(times_us)


rows = []
for n_bytes in (8, 1 << 14, 1 << 18, 1 << 22, 1 << 26):
    repeats = 100 if n_bytes < 1 << 20 else 5
    row = {"bytes": n_bytes}
    for call, divisor in ((half_round_trip, 2), (sendrecv, 1), (window, WINDOW)):
        x, y = cupy.random.random(n_bytes // 8), cupy.zeros(n_bytes // 8)
        for _ in range(3):
            call(x, y)
        row[call.__name__] = round(timed(call, x, y, max(1, repeats // divisor)) / divisor, 1)
        call(x, y)
        check = numpy.empty_like(sent := x.get())
        comm.Sendrecv(sent, peer, 1, check, peer, 1)
        assert (y.get() == check).all(), (n_bytes, call.__name__)
    rows.append(row)
    if me == 0:
        print(row, flush=True)
if me == 0 and len(sys.argv) > 1:
    about = {"mpi": MPI.Get_library_version()[:20], "mpi4py": mpi4py.__version__, "cupy": cupy.__version__}
    device = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    about |= {"device": device, "GPUs": cupy.cuda.runtime.getDeviceCount(), "pennympi": pennympi.__version__}
    Path(sys.argv[1]).write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")
