"""Segments of NVSHMEM's heap and the teams' parts of them, on a CPU: NVSHMEM and the device are a few lines of Python."""

import gc
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from fake_modules import imported_over

from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.errors import SymmetricHeapExhausted

GIB, START = 1 << 30, 1 << 40
SETUP = SimpleNamespace(beside_captures=nullcontext, copy_in=None, fill=None)


class Memory:
    """The array's contents."""

    def __init__(self, address, nbytes, owner, device):
        self.address, self.owner = address, owner


@pytest.fixture
def machine():
    """One PE of a job of four PEs, two on each device; ``request`` lists the requests to NVSHMEM."""
    made = SimpleNamespace(request=[], device_bytes=80 * GIB, fixed_bytes=None, at=START)

    def malloc(nbytes):
        made.request.append(nbytes)
        if made.fixed_bytes is not None and made.at + nbytes > START + made.fixed_bytes:
            return 0
        made.at += nbytes
        return made.at - nbytes

    device = lambda number: SimpleNamespace(mem_info=(made.device_bytes, 0))  # noqa: E731
    bindings = SimpleNamespace(malloc=malloc, ptr=lambda address, pe: 0 if pe == 3 else address + pe * GIB)
    cuda = SimpleNamespace(Device=device, UnownedMemory=Memory, MemoryPointer=lambda memory, offset: memory)
    fakes = {
        "cupy": SimpleNamespace(cuda=cuda, ndarray=lambda shape, dtype, memory, strides: memory),
        "nvshmem": SimpleNamespace(bindings=bindings),
        "nvshmem.bindings": bindings,
    }
    with imported_over(fakes, "memory.segments", "memory.arrays", "memory.heap") as made.heap:
        yield made


def job(n_pes, others=None):
    """A job whose PEs all give one answer, or two different ones."""
    return SimpleNamespace(n_pes=n_pes, gather=lambda text, what: [text] * (n_pes - 1) + [others or text])


def started(machine, heap_bytes=None, others=None):
    segments = machine.heap.Segments(0, 4, 0, 2)
    machine.request.clear()
    segments.start(job(4, others), heap_bytes)
    return segments


def test_an_address_of_each_pe(machine):
    assert started(machine).peer_offsets == [0, GIB, 2 * GIB, None]


@pytest.mark.parametrize(
    ("device_gib", "fixed_gib", "asked_gib"),
    [
        (80, None, [2]),
        (4, None, [0.5]),  # half of a PE's share: its half of the device, less what NVSHMEM keeps
        (80, 1.75, [2, 1.5]),
        (80, 0, None),
    ],
)
def test_the_first_segment_follows_the_device(machine, device_gib, fixed_gib, asked_gib):
    machine.device_bytes = device_gib * GIB
    segments = machine.heap.Segments(0, 4, 0, 2)
    machine.fixed_bytes = None if fixed_gib is None else fixed_gib * GIB + 256
    machine.request.clear()
    segments.start(job(4), None)
    if asked_gib is None:
        assert segments.nbytes == 0 and min(machine.request) >= GIB // 32
    else:
        assert machine.request == [gib * GIB for gib in asked_gib] and segments.nbytes == asked_gib[-1] * GIB


def test_a_first_segment_that_was_asked_for(machine):
    assert started(machine, 3 * GIB).nbytes == 3 * GIB
    assert started(machine, GIB, others=(5 * GIB, 60 * GIB)).nbytes == 5 * GIB  # all PEs ask for the largest size
    with pytest.raises(SymmetricHeapExhausted, match=r"ask for less by init.heap_bytes"):
        started(machine, 100 * GIB)
    assert machine.request == []  # NVSHMEM would end the process


def test_nvshmem_is_asked_only_when_there_is_no_room(machine):
    segments = started(machine)
    world, row = (machine.heap.Heap(job(n), segments, SETUP) for n in (4, 2))
    machine.request.clear()
    a, b = world.allocate(GIB), row.allocate(1000)
    assert not machine.request and b - a == GIB and world.taken(b) and segments.holds(a + 5)
    with pytest.raises(SymmetricHeapExhausted, match=r"PENNYMPI_SYMMETRIC_SIZE or init.heap_bytes=.* all its 4 PEs can"):
        row.allocate(GIB)
    assert not machine.request
    c = world.allocate(3 * GIB)
    assert machine.request == [3 * GIB] and segments.holds(c)
    world.release(c)
    assert row.allocate(2 * GIB)  # any team may take what a team of all PEs gave back
    with pytest.raises(SymmetricHeapExhausted, match="free; free arrays, or use devices with more memory") as error:
        world.allocate(1000 * GIB)
    assert machine.request == [3 * GIB] and 0 < error.value.free_bytes < 1000 * GIB
    world.close(())
    row.close(())
    assert row.taken(b) is False and segments.ranges.free_bytes == segments.nbytes


def test_arrays_that_outlive_their_team(machine):
    segments = started(machine)
    first = machine.heap.Heap(job(2), segments, SETUP)
    workspace, kept, dropped = (first.allocate(1000) for _ in range(3))
    mine, peers = (first.view(at, (10,), DTYPES["int8"]) for at in (kept, kept + GIB))
    assert segments.holds(kept) and segments.holds(workspace)
    first.close([kept, dropped])
    assert not segments.holds(kept) and segments.holds(workspace)  # kept is an array; the workspace is free memory
    second = machine.heap.Heap(job(2), segments, SETUP)
    assert second.allocate(1000) == workspace and second.allocate(1000) > dropped
    del mine
    gc.collect()
    assert second.allocate(1000) > dropped  # a view of a peer's instance still lives
    del peers
    gc.collect()
    assert second.allocate(1000) == kept and segments.holds(kept)
    second.close(())
    assert segments.ranges.free_bytes == segments.nbytes
