"""Messages of CuPy's arrays in all ways of mpi4py: between neighbours in a ring, of sizes around that of an envelope.

Prints "right", and the number of messages in envelopes.
"""

import cupy
import numpy as np
from mpi4py import MPI

import pennympi
from pennympi.mpi import messages
from pennympi.mpi.page import N_SLOTS

taken = []
take_slot = messages.take_slot


def counted(*args):
    taken.append(take_slot(*args))
    return taken[-1]


messages.take_slot = counted
comm = pennympi.Comm(MPI.COMM_WORLD)
me, n = comm.rank, comm.size
after, before = (me + 1) % n, (me - 1) % n
cupy.cuda.Device(me % cupy.cuda.runtime.getDeviceCount()).use()
comm.Barrier()


def full(size, value):
    return cupy.full(size, float(value))


def check(status, size, tag):
    assert (status.source, status.tag, status.Get_count(MPI.DOUBLE)) == (before, tag, size)


def each_way(size, value):
    """Check each way.  value: this rank's message has the value value + me"""
    x, y, status, second = full(size, value + me), full(size, -1), MPI.Status(), MPI.Status()
    want = value + before
    comm.Sendrecv(x, after, 3, y, before, 3, status)
    assert (y == want).all()
    check(status, size, 3)
    y[:] = -1
    MPI.Request.Waitall([comm.Irecv(y, before, 4), comm.Isend(x, after, 4)], [status, second])
    assert (y == want).all()
    check(status, size, 4)
    y[:] = -1
    receive, send = comm.Irecv(y, MPI.ANY_SOURCE, MPI.ANY_TAG), comm.Issend(x, after, 5)
    send.Wait()
    receive.Wait(status)
    assert (y == want).all()
    check(status, size, 5)
    host = np.zeros(size)
    MPI.Request.Waitall([comm.Irecv(host, before, 6), comm.Isend(x, after, 6)])
    assert (host == want).all()
    y[:] = -1
    MPI.Request.Waitall([comm.Irecv(y, before, 7), comm.Isend(host, after, 7)])
    assert (y == value + (before - 1) % n).all()
    columns = MPI.DOUBLE.Create_vector(size, 1, 2).Commit()
    strided = np.full((size, 2), -1.0)
    MPI.Request.Waitall([comm.Irecv([strided, 1, columns], before, 8), comm.Isend(x, after, 8)])
    assert (strided == [want, -1]).all()
    columns.Free()
    y[:] = -1
    send = comm.Isend(x, after, 9)
    comm.Probe(before, 9, status)
    check(status, size, 9)
    message = comm.Improbe(before, 9, status)
    check(status, size, 9)
    message.Recv(y, status)
    assert (y == want).all()
    check(status, size, 9)
    send.Wait()
    comm.Sendrecv_replace(y, after, 1, before, 1)
    assert (y == value + (before - 1) % n).all()
    comm.Isendrecv(x, after, 2, y, before, 2).Wait()
    assert (y == want).all()


for value in range(3):
    for size in (1, 31, 40, 1000, 100_000):
        each_way(size, value)

# If a message is too long, the receive fails, but not the send, and the next message arrives.
x, y = full(1000, me), full(500, -1)
send = comm.Isend(x, after, 2)
try:
    comm.Recv(y, before, 2)
    raise AssertionError
except MPI.Exception as error:
    assert error.Get_error_class() == MPI.ERR_TRUNCATE and "8000 bytes with tag 2" in str(error), error
send.Wait()

# More messages than slots, which arrive in order.
sent, received = [full(300 + k, me * 100 + k) for k in range(70)], [full(300 + k, -1) for k in range(70)]
requests = [comm.Irecv(array, before, 1) for array in received]
MPI.Request.Waitall(requests + [comm.Isend(array, after, 1) for array in sent])
assert all((array == before * 100 + k).all() for k, array in enumerate(received))

# A probe tells small messages of numbers from the envelopes that follow them and fill all slots.
small, status = [np.zeros(size, "int16") for size in range(128, 256)], MPI.Status()
sends = [comm.Isend(array, after, 6) for array in [*small, *[full(1000, me)] * N_SLOTS]]
comm.Barrier()
for array in small:
    comm.Probe(before, 6, status)
    assert status.Get_count(MPI.SHORT) == array.size
    comm.Recv(array.copy(), before, 6)
for _ in range(N_SLOTS):
    comm.Recv(x, before, 6)
MPI.Request.Waitall(sends)

# A send is complete though the receiver is in another call.
receive = comm.Irecv(y, before, 4)
comm.Send(full(500, me), after, 4)
comm.Barrier()
receive.Wait()
assert (y == before).all()

x, y = full(1000, 0), full(1000, -1)
calls = [comm.Send_init(x, after, 1), comm.Recv_init(y, before, 1)]
for step in range(3):
    x[:] = step + me
    for call in calls:
        call.Start()
    MPI.Request.Waitall(calls)
    assert (y == step + before).all()
y[:] = -1
for call in calls[::-1]:
    call.Start()
calls[0].Free()  # while it is under way
calls[1].Wait()
assert (y == 2 + before).all()

ring = comm.Create_cart([n], periods=[True])
source, dest = ring.Shift(0, 1)
ring.Sendrecv(x, dest, 0, y, source)
assert (y == 2 + source).all()
ring.Free()
print(f"right, {sum(slot is not None for slot in taken)} envelopes\n", end="", flush=True)
