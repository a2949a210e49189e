"""The heap in the node's memory, on a CPU: a stand-in for CUDA notes calls, and refuses them on demand."""

import importlib
from types import SimpleNamespace

import pytest
from fake_modules import imported_over

from pennympi.job.shared_memory import PAGE_BYTES

MIB = 1 << 20


@pytest.fixture
def machine():
    """``registered``: {address: bytes};  ``most``: how many ranges CUDA takes."""
    made = SimpleNamespace(registered={}, most=100)

    def register(address, nbytes, flags):
        if len(made.registered) == made.most:
            raise OSError("out of memory")
        made.registered[address] = nbytes

    runtime = SimpleNamespace(hostRegister=register, hostUnregister=lambda address: made.registered.pop(address))
    runtime.deviceGetAttribute, runtime.CUDARuntimeError = lambda attribute, device: 1, OSError
    bindings = SimpleNamespace()
    fakes = {
        "cupy": SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)),
        "nvshmem": SimpleNamespace(bindings=bindings),
        "nvshmem.bindings": bindings,
    }
    job = SimpleNamespace(n_pes=1, me=0, gather=lambda text, what: [text], control=SimpleNamespace(pes=[0]))
    with imported_over(fakes, "memory.links", "memory.segments", "memory.host_heap") as module:
        module.room_bytes = lambda: 64 * MIB
        made.job, made.segments, made.runtime = job, module.HostSegments(job, 0), runtime
        yield made


def test_segments_are_added_where_there_is_room(machine):
    segments = machine.segments
    assert segments.peer_offsets == [0] and not machine.registered and segments.room_bytes() == 64 * MIB
    segments.start(machine.job, 8 * MIB)
    assert machine.registered == {segments.base: 8 * MIB} and segments.ranges.free_bytes == segments.nbytes == 8 * MIB
    assert segments.add(MIB + 1)
    second = segments.base + 8 * MIB + PAGE_BYTES
    assert machine.registered[second] == MIB + PAGE_BYTES and segments.holds(second + MIB)
    assert len(segments.ranges.free) == 2  # no array spans both ranges
    assert not segments.add(60 * MIB) and len(machine.registered) == 2


def test_what_cuda_refuses_leaves_nothing_behind(machine):
    machine.segments.start(machine.job, MIB)
    machine.most = 1
    assert not machine.segments.add(MIB) and len(machine.registered) == 1 and machine.segments.nbytes == MIB
    machine.most = 2
    assert machine.segments.add(MIB) and machine.segments.nbytes == 2 * MIB


@pytest.mark.parametrize(
    ("peer", "reaches", "missing"),
    [
        (("0000:01:00.0", "a"), True, False),  # the same device
        (("0000:01:00.0", "b"), True, True),  # another part of the same device
        (("0000:02:00.0", "c"), True, False),
        (("0000:02:00.0", "c"), False, True),
        (("0000:03:00.0", "d"), False, False),  # this process cannot see the device, so nothing is known
    ],
)
def test_where_peer_access_is_missing(machine, peer, reaches, missing):
    pytest.importorskip("cuda.bindings.driver", exc_type=ImportError)
    links, seen = importlib.import_module("pennympi.cuda.memory.links"), {"0000:01:00.0": 0, "0000:02:00.0": 1}

    def number_of(bus_id):
        if bus_id not in seen:
            raise OSError(bus_id)
        return seen[bus_id]

    machine.runtime.deviceGetPCIBusId, machine.runtime.deviceGetByPCIBusId = lambda device: "0000:01:00.0", number_of
    machine.runtime.getDeviceProperties = lambda device: {"uuid": b"a"}
    machine.runtime.deviceCanAccessPeer = lambda device, peer: int(reaches)
    peer_device = peer[0], peer[1].encode()
    machine.job.gather = lambda text, what: [text, peer_device if isinstance(text, tuple) else False]
    assert links.without_peer_access(machine.job, 0) == missing
