"""The access of the GPUs of a team to each other's memory."""

import cupy
from cuda.bindings import driver

from ...job.job import Job

_runtime = cupy.cuda.runtime


def ll128_in_nodes(job: Job, device: int) -> bool:
    """Whether the PEs of each node share a device or are on NVLink, which carries 128-byte lines whole.  Collective."""
    own = _runtime.deviceGetPCIBusId(device)
    attribute = driver.CUdevice_P2PAttribute.CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED
    safe = True
    devices = job.gather(own, "look at the links")
    for bus_id in {devices[pe] for pe in job.control.pes} - {own}:
        peer = _number(bus_id)
        if peer is None:  # a hidden device is not known to be on NVLink
            safe = False
            continue
        status, supported = driver.cuDeviceGetP2PAttribute(attribute, driver.CUdevice(device), driver.CUdevice(peer))
        safe = safe and int(status) == 0 and bool(supported)
    return all(job.gather(safe, "look at the links"))


def without_peer_access(job: Job, device: int) -> bool:
    """Whether some PE's device can't access another PE's memory, as far as CUDA knows.  Collective.

    CUDA knows nothing about devices that this process does not see (CUDA_VISIBLE_DEVICES); NVSHMEM checks them later.
    """
    place = _runtime.deviceGetPCIBusId(device), bytes(_runtime.getDeviceProperties(device)["uuid"])
    devices = set(job.gather(place, "look at the links")) - {place}
    lacks_access = any(not _reaches(device, place[0], bus_id) for bus_id, _ in devices)
    return any(job.gather(lacks_access, "look at the links"))


def _reaches(device: int, own_bus_id: str, bus_id: str) -> bool:
    if bus_id == own_bus_id:  # another part of the same GPU (MIG)
        return False
    peer = _number(bus_id)
    return peer is None or bool(_runtime.deviceCanAccessPeer(device, peer))


def _number(bus_id: str) -> int | None:
    """The number of a device in this process; None if the device is hidden."""
    try:
        return int(_runtime.deviceGetByPCIBusId(bus_id))
    except _runtime.CUDARuntimeError:
        return None
