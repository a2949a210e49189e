"""NVSHMEM in this process: it is started once, over the first communicator, and runs until the process ends.

A process has one set of NVSHMEM PEs, and starting NVSHMEM again after its end is not reliable.  So all teams share
NVSHMEM, each with some of its PEs.  If the GPUs can't access each other's memory, the node's memory is used instead
(host_heap.py).
"""

import ctypes
import os
import platform
from dataclasses import dataclass

import cupy
import numpy as np
from mpi4py import MPI

from ...errors import Unsupported
from ...job.job import Job
from ...job.membership import ranks_in_first_team
from ...job.process import Process
from ...memory.order import Order
from ...settings import setting
from ...state import state
from ...units import size_text
from ...wall_time import timed
from ..device.timeout_record import GivenUp
from ..streams import events
from .host_heap import HostSegments
from .links import without_peer_access
from .segments import Segments
from .setup_stream import SetupStream
from .which_gpu import number_of_gpu

TEAM_WORLD = 0  # NVSHMEM_TEAM_WORLD
NO = ("", "0", "false", "no")  # values of an environment variable that mean off


@dataclass(frozen=True)
class World:
    """The state that all teams of a process share.

    group:     the PEs of NVSHMEM, or of the heap in the node's memory
    pe_of:     {process: its PE}
    device:    number of this PE's GPU;  n_sharing: number of PEs that use that GPU
    segments:  the symmetric memory
    setup:     the stream for work on this PE's memory
    order:     the order of launches that wait for peers
    given_up:  the state after a wait of these launches has given up
    """

    group: MPI.Group
    pe_of: dict[Process, int]
    device: int
    n_sharing: int
    segments: Segments
    setup: SetupStream
    order: Order
    given_up: GivenUp


def join(job: Job, heap_bytes: int | None) -> tuple[World, tuple[int, ...]]:
    """Start NVSHMEM over the job's PEs unless it runs; return the World, and NVSHMEM's number of each PE.  Collective.

    heap_bytes: size of the first segment of symmetric memory; None: PENNYMPI_SYMMETRIC_SIZE
    Raises Unsupported if NVSHMEM runs over other PEs, SymmetricHeapExhausted.
    """
    numbers = ranks_in_first_team(job, state.world and state.world.group)
    if state.world is None or numbers is None:
        state.world = _start(job)
        with timed("symmetric heap"):
            state.world.segments.start(job, heap_bytes or setting("PENNYMPI_SYMMETRIC_SIZE"))
        numbers = tuple(range(job.n_pes))
    return state.world, numbers


def _start(job: Job) -> World:
    number = number_of_gpu(job)
    with timed("CUDA context"):
        cupy.cuda.Device(number).use()
        cupy.cuda.runtime.free(0)  # makes the context, unless the program has made it
    place = (platform.node(), cupy.cuda.runtime.deviceGetPCIBusId(number))
    n_sharing = job.gather(place, "look at the devices").count(place)
    segments = HostSegments(job, number) if _in_host_memory(job, number) else _start_nvshmem(job, number, n_sharing)
    pe_of = {process: pe for pe, process in enumerate(job.processes)}
    return World(job.comm.Get_group(), pe_of, number, n_sharing, segments, SetupStream(), Order(events), GivenUp())


def _in_host_memory(job: Job, device: int) -> bool:
    """Whether the heap is in the node's memory.  Collective.  Raises Unsupported if there are several nodes."""
    heap, one_node = setting("PENNYMPI_HEAP"), job.control.n_local == job.n_pes
    if heap == "host" and not one_node:
        raise Unsupported("PENNYMPI_HEAP=host is for PEs of one node, and these are on several: unset it")
    return heap == "host" or (heap == "auto" and one_node and without_peer_access(job, device))


def _start_nvshmem(job: Job, device: int, n_sharing: int) -> Segments:
    # By the bindings, since nvshmem.core imports PyTorch if it is installed, which takes seconds.
    from cuda.pathfinder import load_nvidia_dynamic_lib
    from nvshmem import bindings as nvshmem

    if not setting("PENNYMPI_MULTICAST"):
        os.environ.setdefault("NVSHMEM_DISABLE_NVLS", "1")  # then NVSHMEM makes no multicast objects
    os.environ.setdefault("NVSHMEM_DISABLE_NCCL", "1")  # only NVSHMEM's collectives use NCCL, for 0.6 s and 1.7 GiB
    with timed("start of NVSHMEM"):
        load_nvidia_dynamic_lib("nvshmem_host")
        uid, attributes = nvshmem.uniqueid(), nvshmem.InitAttr()
        if job.me == 0:
            nvshmem.get_uniqueid(uid.ptr)
        words = uid._data.view(np.int8)
        words[...] = job.gather(words, "start of NVSHMEM")[0]
        nvshmem.set_attr_uniqueid_args(job.me, job.n_pes, uid.ptr, attributes.ptr)
        nvshmem.hostlib_init_attr(nvshmem.Flags.INIT_WITH_UNIQUEID, attributes.ptr)
    with timed("symmetric heap"):
        return Segments(job.me, job.n_pes, device, n_sharing)


def multicast_distance(job: Job, address: int) -> int:
    """Difference between multicast and symmetric addresses; 0 if NVSHMEM has no multicast mapping.  Collective.

    NVSHMEM maps its heap as one range, so one difference serves all addresses.
    """
    from nvshmem import bindings as nvshmem

    pointer = 0
    if setting("PENNYMPI_MULTICAST") and os.environ.get("NVSHMEM_DISABLE_NVLS", "0") in NO:
        pointer = int(nvshmem.mc_ptr(TEAM_WORLD, address))
    everywhere = all(job.gather(pointer != 0, "look at the links"))
    return pointer - address if everywhere else 0


def register(address: int, nbytes: int) -> None:
    """Call nvshmemx_buffer_register, which the host bindings lack."""
    status = _library().nvshmemx_buffer_register(ctypes.c_void_p(address), ctypes.c_size_t(nbytes))
    if status:
        raise Unsupported(f"NVSHMEM can't register {size_text(nbytes)} (status {status}): is it memory of cudaMalloc?")


def unregister(address: int) -> None:
    """Call nvshmemx_buffer_unregister."""
    _library().nvshmemx_buffer_unregister(ctypes.c_void_p(address))


def _library() -> ctypes.CDLL:
    return ctypes.CDLL("libnvshmem_host.so.3")  # it is loaded already
