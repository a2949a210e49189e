"""The host backend: shared memory inside a node, MPI between nodes, NumPy arrays."""

import os
import platform

from ..backend import Backend
from ..job.job import Job
from ..units import counted
from .runtime.compiler import Compiler
from .runtime.heap import Heap
from .runtime.peers import Peers
from .runtime.streams import Streams


def make_backend(job: Job, heap_bytes: int | None) -> Backend:
    """The backend of a team.  Collective.  heap_bytes: see ``pennympi.init``"""
    heap = Heap(job, heap_bytes)
    peers = Peers(job, heap)
    return Backend(
        name="host",
        device_name=processor(),
        bus_id="",
        max_blocks=1,  # blocks run one after another, so more blocks only cost time
        resident_blocks=1,
        shared=peers.shared,
        buffer_bytes=1 << 20,
        has_streams=False,
        heap=heap,
        compiler=Compiler(peers),
        streams=Streams(),
        peers=peers,
    )


def processor() -> str:
    """The model name of the CPU, and the number of its cores."""
    try:
        with open("/proc/cpuinfo") as lines:
            name = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    return f"{name}, {counted(os.cpu_count() or 1, 'core')}"
