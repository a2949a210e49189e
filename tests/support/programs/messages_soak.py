"""Random messages for some seconds: of both kinds of arrays, sizes around that of an envelope and large ones, wildcards,
probes, requests that are awaited in any way, cancelled receives.      messages_soak.py SECONDS SEED

Without CuPy all arrays lie on the host.  Both ranks of a pair draw the same numbers; each message has a number, which is
the value of its elements.
"""

import random
import sys
import time

import numpy as np
from mpi4py import MPI

import pennympi

try:
    import cupy
except ImportError:
    cupy = np

seconds, seed = float(sys.argv[1]), int(sys.argv[2])
comm = pennympi.Comm(MPI.COMM_WORLD)
me, n = comm.rank, comm.size
if cupy is not np:
    cupy.cuda.Device(me % cupy.cuda.runtime.getDeviceCount()).use()
comm.Barrier()
draw = random.Random(seed)
SIZES = (0, 1, 30, 31, 32, 33, 39, 40, 41, 100, 1000, 20_000)
LARGEST, CANCELLED = 1 << 23, 50_000  # elements; a tag of no message


def array(size, value, on_gpu):
    return (cupy if on_gpu else np).full(size, float(value))


def wait_for(requests, way):
    if way == 0:
        MPI.Request.Waitall(requests)
    elif way == 1:
        for request in requests:
            request.Wait()
    elif way == 2:
        while not MPI.Request.Testall(requests):
            pass
    else:
        for _ in requests:
            MPI.Request.Waitany(requests)


def receive_probed(source, tag, size, value, on_gpu):
    """Receive a message whose size is not known before."""
    status = MPI.Status()
    message = comm.Mprobe(source, tag, status) if value % 2 else None
    if message is None:
        comm.Probe(source, tag, status)
    assert (status.tag, status.Get_count(MPI.DOUBLE)) == (tag, size), (status.Get_count(MPI.DOUBLE), size)
    out = array(size, -1, on_gpu)
    if message is None:
        comm.Recv(out, status.source, tag)
    else:
        message.Recv(out)
    return out


number, start_s = 0, time.monotonic()
while comm.bcast(time.monotonic() - start_s < seconds):
    plan = []
    for _ in range(draw.randrange(1, 12)):
        number += 1
        shares_tag, source, dest = draw.random() < 0.5, draw.randrange(n), draw.randrange(n)
        tag = draw.randrange(4) if shares_tag else 4 + number % 30_000
        is_probed, any_source = (not shares_tag and draw.random() < 0.4 for _ in range(2))
        sender_on_gpu, receiver_on_gpu = (draw.random() < 0.6 for _ in range(2))
        kind, room = draw.choice(("Isend", "Issend")), draw.randrange(2)
        size = LARGEST if draw.random() < 0.001 else draw.choice(SIZES)
        plan.append((source, dest, tag, size, number, sender_on_gpu, receiver_on_gpu, kind, room,
                     is_probed, any_source))  # fmt: skip
    way, requests, received, sent = draw.randrange(4), [], [], []
    cancelled = comm.Irecv(array(40, -1, draw.random() < 0.5), MPI.ANY_SOURCE, CANCELLED)
    for source, dest, tag, size, value, _, on_gpu, _, room, is_probed, any_source in plan:
        if dest == me and not is_probed:
            received.append((array(size + room, -1, on_gpu), size, value))
            requests.append(comm.Irecv(received[-1][0], MPI.ANY_SOURCE if any_source else source, tag))
    for source, dest, tag, size, value, on_gpu, _, kind, *_ in plan:
        if source == me:
            sent.append(array(size, value, on_gpu))
            requests.append(getattr(comm, kind)(sent[-1], dest, tag))
    for source, dest, tag, size, value, _, on_gpu, _, _, is_probed, any_source in plan:
        if dest == me and is_probed:
            out = receive_probed(MPI.ANY_SOURCE if any_source else source, tag, size, value, on_gpu)
            received.append((out, size, value))
    size, to_right = draw.choice(SIZES), (me + 1) % n
    kinds = [draw.random() < 0.5 for _ in range(2 * n)]  # for each rank: whether what it sends, and receives, is on a GPU
    small, out = array(1 + me % 2 * size, number, kinds[me]), array(1 + size, -1, kinds[n + me])
    comm.Sendrecv(small, to_right, 40_000, out, (me - 1) % n, 40_000)
    received.append((out, 1 + (me - 1) % n % 2 * size, number))
    cancelled.Cancel()
    status = MPI.Status()
    cancelled.Wait(status)
    assert status.Is_cancelled()
    wait_for(requests, way)
    for out, size, value in received:
        host = out if isinstance(out, np.ndarray) else out.get()
        assert (host[:size] == value).all() and (host[size:] == -1).all(), (size, value, host)
print(f"{number} messages right\n", end="", flush=True)
