"""Messages and collectives of arrays on GPUs by ``pennympi.Comm``: with CuPy, or without a GPU with its stand-in."""

import random
import re
from types import SimpleNamespace

import pytest
from launch import PROGRAMS, launch

from pennympi.mpi.allocations import locate
from pennympi.state import state

SUPPORT = PROGRAMS.parent
STAND_IN = {"PYTHONPATH": f"{SUPPORT}:{SUPPORT}/stand_in", "PENNYMPI_BACKEND": "host"}


@pytest.mark.parametrize("n_pes", [1, 2, 3])
def test_each_way_of_mpi4py(n_pes):
    end = launch(n_pes, str(PROGRAMS / "gpu_messages.py"), limit_s=60, env=STAND_IN)
    assert end.rc == 0, end.output
    envelopes = [int(number) for number in re.findall(r"right, (\d+) envelopes", end.output)]
    assert len(envelopes) == n_pes and min(envelopes) > 100, end.output


@pytest.mark.parametrize("n_pes", [2, 3])
def test_random_messages(n_pes):
    """Both kinds of arrays, order, wildcards, probes, and each way to wait."""
    end = launch(n_pes, str(PROGRAMS / "messages_soak.py"), "3", str(random.randrange(1000)), limit_s=60, env=STAND_IN)
    assert end.rc == 0 and end.output.count("messages right") == n_pes, end.output


@pytest.mark.parametrize("from_bytes", ["0", "auto"])
def test_collectives(from_bytes):
    environment = STAND_IN | {"PENNYMPI_COMM_FROM_BYTES": from_bytes}
    end = launch(2, str(PROGRAMS / "gpu_collectives.py"), limit_s=60, env=environment)
    assert end.rc == 0 and end.output.count("right") == 2, end.output


BEGUN = """
import os, time, cupy, pennympi
import numpy as np
from mpi4py import MPI
comm = pennympi.Comm(MPI.COMM_WORLD)
me, x, y = comm.rank, cupy.full(1000, 1.0), cupy.full(1000, 0.0)
for _ in range(2):  # after the first message all ranks take envelopes
    comm.Barrier()
    comm.Sendrecv(x, (me + 1) % comm.size, 0, y, (me - 1) % comm.size)
"""
FAILING = (
    BEGUN
    + """
try:
    {}
except pennympi.PeerTimeout as error:
    print(f"{{comm.rank}}: {{error}}\\n", end="", flush=True)
    os._exit(3)
"""
)


@pytest.mark.parametrize("call", ["comm.Send(x, 1 - comm.rank, 7)", "comm.Isend(x, 1 - comm.rank, 7).Wait()"])
def test_two_sends_that_nobody_receives(call):
    end = launch(2, "-c", FAILING.format(call), limit_s=30, env=STAND_IN | {"PENNYMPI_TIMEOUT_S": "2"})
    said = r"PE \d waited 2 s for PE \d in a message of 8000 bytes to rank \d with tag 7"
    assert re.search(said, end.output), end.output


@pytest.mark.parametrize("source", ["1", "MPI.ANY_SOURCE"])
def test_a_rank_that_has_ended(source):
    call = f"os.kill(os.getpid(), 9) if comm.rank else comm.Recv(x, {source}, 7)"
    end = launch(2, "-c", FAILING.format(call), limit_s=30, env=STAND_IN | {"PENNYMPI_TIMEOUT_S": "2"})
    assert end.rc != 0 and end.seconds < 20, end.output


def test_a_process_that_does_not_reach_the_symmetric_heap(monkeypatch):
    """Teams of different processes have different heaps: no envelope may name the PE of another heap."""
    page = SimpleNamespace(card=SimpleNamespace(process="peer"))
    segments = SimpleNamespace(by_nvshmem=True, base=1000, peer_offsets=[0, 64, None], holds=lambda address: True)
    world = SimpleNamespace(segments=segments, group=SimpleNamespace(rank=0), pe_of={"peer": 1})
    monkeypatch.setattr(state, "world", world)
    assert locate(1008, page) == (8, 0, 0, 0)
    for pe_of in ({}, {"peer": 2}):
        world.pe_of = pe_of
        assert locate(1008, page) is None


CLOSED = """
import cupy, pennympi
from mpi4py import MPI
from pennympi.mpi import page
comm = pennympi.Comm(MPI.COMM_WORLD)
if comm.rank:
    page.page_of = lambda card: None
comm.Barrier()
x, y = cupy.full(1000, float(comm.rank)), cupy.full(1000, 7.0)
for _ in range(3):
    comm.Sendrecv(x, 1 - comm.rank, 0, y, 1 - comm.rank)
    assert (y == 1 - comm.rank).all()
print("right\\n", end="")
"""


def test_a_page_that_another_rank_can_not_open():
    """No rank sends an envelope, which would be taken for the message."""
    end = launch(2, "-c", CLOSED, limit_s=30, env=STAND_IN)
    assert end.rc == 0 and end.output.count("right\n") == 2 and "ulimit -n" in end.output, end.output


def test_a_duplicate_knows_the_ranks():
    program = """
import cupy, pennympi
from mpi4py import MPI
comm = pennympi.Comm(MPI.COMM_WORLD)
comm.Barrier()
for copy in comm.Dup(), comm.Clone(), comm.Dup_with_info(MPI.INFO_NULL):
    assert type(copy) is pennympi.Comm and copy._agree().cards == comm._agree().cards != None
"""
    end = launch(2, "-c", program, limit_s=30, env=STAND_IN)
    assert end.rc == 0, end.output


def test_the_log_says_who_did_it():
    program = """
import numpy, cupy, pennympi
from mpi4py import MPI
comm = pennympi.Comm(MPI.COMM_WORLD)
for n in 1, 1 << 20:
    comm.Bcast(numpy.zeros(n, "u1"))
x = cupy.full(1000, 1.0)
for _ in range(2):
    comm.Sendrecv(x, 1 - comm.rank, 7, x.copy(), 1 - comm.rank)
"""
    end = launch(2, "-c", program, limit_s=30, env=STAND_IN | {"PENNYMPI_LOG": "comm"})
    ways = r"Bcast by MPI.*Bcast by the team.*8000 bytes to rank \d with tag 7 by a copy from GPU to GPU"
    assert end.rc == 0 and re.search(ways, end.output, re.DOTALL), end.output


COMPARING = """
import time, cupy, pennympi
import numpy as np
from mpi4py import MPI
comm = pennympi.Comm(MPI.COMM_WORLD)
comm.team.barrier()
agreement = comm._agree()
agreement.team_on_host, agreement.left = None, 0  # as with a team on GPUs
for step in range(2):
    if comm.rank == 1 and step:
        {}
    comm.Allreduce(MPI.IN_PLACE, x := np.full(8, 1.0))
    assert (x == comm.size).all()
print("ended well")
"""


@pytest.mark.parametrize("n_pes", [2, 3])
def test_a_live_rank_may_be_late_where_ranks_compare_where_arrays_lie(n_pes):
    program = COMPARING.format("time.sleep(4)")
    end = launch(n_pes, "-c", program, limit_s=30, env=STAND_IN | {"PENNYMPI_TIMEOUT_S": "2"})
    assert end.rc == 0 and end.output.count("ended well") == n_pes, end.output


def test_ranks_that_all_wait_where_they_compare_where_arrays_lie():
    program = COMPARING.format("comm.Recv(cupy.full(9, 1.0), 0)")
    end = launch(3, "-c", program, limit_s=30, env=STAND_IN | {"PENNYMPI_TIMEOUT_S": "2"})
    said = r"PE \d waited 2 s for PE \d in a (comparison of where arrays lie|receive of at most 72 bytes)"
    assert end.rc != 0 and re.search(said, end.output), end.output


UNCHANGED = """
import cupy
from mpi4py import MPI
comm = MPI.COMM_WORLD
peer = 1 - comm.rank
x, y = cupy.full(100, 1.0 + comm.rank), cupy.full(100, -1.0)
calls = [comm.Send_init(x, peer), comm.Recv_init(y, peer)]
assert all(calls) and all(isinstance(call, MPI.Prequest) for call in [*calls, comm.Send_init(b"", MPI.PROC_NULL)])
MPI.Prequest.Startall(calls)
MPI.Request.Waitall(calls)
assert all(calls) and (y == 1.0 + peer).all()
for call in calls:
    call.Free()
    assert call == MPI.REQUEST_NULL
y[:] = -1.0
send = comm.Isend(x, peer)
MPI.Message.Probe(comm, peer).Recv(y)
send.Wait()
assert (y == 1.0 + peer).all()
print("right")
"""


def test_a_program_that_knows_only_mpi4py(tmp_path):
    """Its class methods of requests and messages take arrays on GPUs."""
    program = tmp_path / "program.py"
    program.write_text(UNCHANGED)
    end = launch(2, "-m", "pennympi", "run", str(program), limit_s=30, env=STAND_IN)
    assert end.rc == 0 and end.output.count("right") == 2, end.output


def test_a_rank_that_waits_for_another_one_is_not_overdue():
    """Rank 1 waits for rank 0, whose Waitall waits for an array of the host of rank 2."""
    program = (
        BEGUN
        + """
if me == 0:
    receive = comm.Irecv(y, 1, 1)
    MPI.Request.Waitall([comm.Irecv(np.zeros(4), 2, 5)])
    comm.Send(x, 1, 2)
    receive.Wait()
elif me == 1:
    comm.Recv(y, 0, 2)
    comm.Send(x, 0, 1)
else:
    time.sleep(3)
    comm.Send(np.ones(4), 0, 5)
print("ended well\\n", end="")
"""
    )
    end = launch(3, "-c", program, limit_s=40, env=STAND_IN | {"PENNYMPI_TIMEOUT_S": "1"})
    assert end.rc == 0 and end.output.count("ended well") == 3, end.output


def test_a_wait_for_several_messages_raises_an_error_once():
    program = (
        BEGUN
        + """
small, other, errors = cupy.full(500, 0.0), 1 - me, []
sends = [comm.Isend(x, other, 2), comm.Isend(x, other, 1)]
requests = [comm.Irecv(y, other, 1), comm.Irecv(small, other, 2), *sends]
for _ in range(3):
    try:
        MPI.Request.Waitall(requests)
    except MPI.Exception as error:
        errors.append(str(error))
assert len(errors) == 1 and "8000 bytes with tag 2" in errors[0] and not any(requests), (errors, requests)
"""
    )
    end = launch(2, "-c", program, limit_s=40, env=STAND_IN)
    assert end.rc == 0, end.output


@pytest.mark.parametrize("wait", ["MPI.Request.Waitall([send, receive])", "send.Wait(); receive.Wait()"])
def test_mpi_progresses_while_a_message_waits_for_its_receiver(wait):
    """The receiver first sends an array of the host, and waits until it has been received."""
    program = (
        BEGUN
        + f"""
if me == 0:
    small = np.zeros(4)
    send, receive = comm.Isend(x, 1, 1), comm.Irecv(small, 1, 2)
    {wait}
    assert (small == 5).all()
else:
    time.sleep(0.3)
    comm.Ssend(np.full(4, 5.0), 0, 2)
    comm.Recv(y, 0, 1)
"""
    )
    end = launch(2, "-c", program, limit_s=20, env=STAND_IN)
    assert end.rc == 0, end.output


def test_a_receiver_that_comes_after_the_sender_gave_up():
    """It gets an error, and not what the sender's memory holds by then."""
    program = (
        BEGUN
        + """
if me == 0:
    try:
        comm.Send(x, 1, 5)
    except pennympi.PeerTimeout:
        x[:] = 666.0
        print("gave up\\n", end="", flush=True)
        comm.Send(x, 1, 7)
else:
    os.environ["PENNYMPI_TIMEOUT_S"] = "20"
    comm.Recv(y, 0, 7)
    try:
        comm.Recv(y, 0, 5)
    except pennympi.PeerTimeout as error:
        print(f"{error}\\n", end="")
"""
    )
    end = launch(2, "-c", program, limit_s=40, env=STAND_IN | {"PENNYMPI_TIMEOUT_S": "1"})
    assert end.rc == 0 and "gave up" in end.output and "in a receive of 8000 bytes with tag 5" in end.output, end.output


def test_arrays_of_any_shape_are_flat():
    program = """
import cupy, numpy as np
from pennympi.mpi.flat import Flat
from pennympi.mpi.message import message_of
for shape in (6,), (2, 3):
    x = cupy.zeros(shape)
    flat = Flat(True).updated(message_of(x), x.dtype)
    flat[:4] = 1.0
    assert flat.shape == (6,) and int(x.host.sum()) == 4
"""
    end = launch(1, "-c", program, limit_s=20, env=STAND_IN)
    assert end.rc == 0, end.output
