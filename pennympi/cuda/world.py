"""NVSHMEM of this process: it is started once, over the first communicator, and runs until the process ends.

NVSHMEM has one set of PEs a process, and to start it again after its end is not reliable.  So all teams share it, each
with some of its PEs.
"""

import ctypes
import importlib
import os
import platform
import sys
import warnings
from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np
from cuda.bindings import driver
from cuda.core import Device
from mpi4py import MPI

from ..errors import Unsupported
from ..job.job import Job
from ..job.membership import ranks_in_first_team
from ..memory.order import Order
from ..settings import setting
from . import streams
from .aside import Aside
from .heap import Segments

TEAM_WORLD = 0  # NVSHMEM_TEAM_WORLD
NO = ("", "0", "false", "no")  # values of a variable that switch nothing on


@dataclass(frozen=True)
class World:
    """What all teams of a process share.

    group:     the PEs of NVSHMEM
    device:    the number of this PE's GPU;  n_sharing: PEs that use that GPU
    segments:  the symmetric memory
    aside:     a stream for work on this PE's memory
    order:     of the launches that wait for peers
    """

    group: MPI.Group
    device: int
    n_sharing: int
    segments: Segments
    aside: Aside
    order: Order


_world: World | None = None


def join(job: Job, heap_bytes: int | None) -> tuple[World, tuple[int, ...]]:
    """Start NVSHMEM over the job's PEs unless it runs; return it and its number of each PE.  Collective.

    heap_bytes: of the first segment of symmetric memory; None: PENNYMPI_SYMMETRIC_SIZE
    Raises Unsupported when NVSHMEM runs over other PEs, SymmetricHeapExhausted.
    """
    global _world
    numbers = ranks_in_first_team(job, _world.group if _world else None)
    if _world is None or numbers is None:
        _world = _start(job)
        _world.segments.start(job, heap_bytes or setting("PENNYMPI_SYMMETRIC_SIZE"))
        numbers = tuple(range(job.n_pes))
    return _world, numbers


def _start(job: Job) -> World:
    nvshmem = _nvshmem_core()
    n_devices = cupy.cuda.runtime.getDeviceCount()
    local_pe, n_local = job.control.local, job.control.n_local
    if n_devices == 1 and n_local > 1 and job.me == 0 and os.environ.get("CUDA_VISIBLE_DEVICES", "").count(",") == 0:
        warnings.warn(
            f"{n_local} PEs of this node see one GPU each: they share it, or NVLink peers are hidden from one another; "
            "give every rank all GPUs of its node (srun --gpu-bind=none)",
            stacklevel=7,  # the line of the program that calls init
        )
    number = local_pe % n_devices
    device = Device(number)
    device.set_current()
    cupy.cuda.Device(number).use()
    if not setting("PENNYMPI_MULTICAST"):
        os.environ.setdefault("NVSHMEM_DISABLE_NVLS", "1")  # then NVSHMEM makes no multicast objects
    uid = nvshmem.get_unique_id(empty=job.me != 0)
    words = uid._data.view(np.int8)
    words[...] = job.gather(words, "start of NVSHMEM")[0]
    nvshmem.init(device=device, uid=uid, rank=job.me, nranks=job.n_pes, initializer_method="uid")
    place = (platform.node(), cupy.cuda.runtime.deviceGetPCIBusId(number))
    n_sharing = job.gather(place, "look at the devices").count(place)
    segments = Segments(job.me, job.n_pes, number, n_sharing)
    order = Order(streams, cupy.cuda.runtime.getDeviceProperties(number)["multiProcessorCount"])
    return World(job.comm.Get_group(), number, n_sharing, segments, Aside(), order)


def _nvshmem_core() -> Any:
    """The module nvshmem.core, which would import PyTorch for functions of its own: 3 of the 6 seconds of a start."""
    if hidden := "torch" not in sys.modules:
        sys.modules["torch"] = None  # type: ignore[assignment]  # Python's own mark of a module that is not to be had
    try:
        return importlib.import_module("nvshmem.core")
    finally:
        if hidden:
            del sys.modules["torch"]


def ll128_safe(job: Job, device: int) -> bool:
    """Whether every PE shares this PE's device or is on NVLink, whose stores carry whole 128-byte lines.  Collective."""
    own = cupy.cuda.runtime.deviceGetPCIBusId(device)
    attribute = driver.CUdevice_P2PAttribute.CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED
    fine = True
    for bus_id in set(job.gather(own, "look at the links")) - {own}:
        try:
            peer = cupy.cuda.runtime.deviceGetByPCIBusId(bus_id)
        except cupy.cuda.runtime.CUDARuntimeError:  # hidden from this process, so not known to be on NVLink
            fine = False
            continue
        status, supported = driver.cuDeviceGetP2PAttribute(attribute, driver.CUdevice(device), driver.CUdevice(peer))
        fine = fine and int(status) == 0 and bool(supported)
    return all(job.gather(fine, "look at the links"))


def multicast_distance(job: Job, address: int) -> int:
    """What to add to a symmetric address to reach the instances on all PEs; 0 where NVSHMEM has no multicast mapping.

    NVSHMEM maps its heap as one range, so that one distance serves all addresses.  Collective.
    """
    from nvshmem import bindings as nvshmem

    pointer = 0
    if setting("PENNYMPI_MULTICAST") and os.environ.get("NVSHMEM_DISABLE_NVLS", "0") in NO:
        pointer = int(nvshmem.mc_ptr(TEAM_WORLD, address))
    everywhere = all(job.gather(pointer != 0, "look at the links"))
    return pointer - address if everywhere else 0


def version() -> str:
    """NVSHMEM's version."""
    from nvshmem.core import get_version

    return str(get_version().libnvshmem_version)


def register(address: int, nbytes: int) -> None:
    """nvshmemx_buffer_register: the host bindings have no name for it."""
    status = _library().nvshmemx_buffer_register(ctypes.c_void_p(address), ctypes.c_size_t(nbytes))
    if status:
        raise Unsupported(f"NVSHMEM refused to register {nbytes} bytes (status {status}): is it memory of cudaMalloc?")


def unregister(address: int) -> None:
    """nvshmemx_buffer_unregister."""
    _library().nvshmemx_buffer_unregister(ctypes.c_void_p(address))


def _library() -> ctypes.CDLL:
    return ctypes.CDLL("libnvshmem_host.so.3")  # loaded already: this only finds it
