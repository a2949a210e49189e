"""The cuda backend: NVSHMEM's heap, CuPy arrays, kernels launched through the driver."""

import cupy

from ..backend import Backend
from ..job.job import Job
from .compiler.compiler import Compiler
from .memory import world
from .memory.heap import Heap
from .memory.peers import Peers
from .streams.streams import Streams

_runtime = cupy.cuda.runtime


def make_backend(job: Job, heap_bytes: int | None) -> Backend:
    """The backend of a team.  Collective.  heap_bytes: see ``pennympi.init``"""
    joined, numbers = world.join(job, heap_bytes)
    properties = _runtime.getDeviceProperties(joined.device)
    cc = (properties["major"], properties["minor"])
    # Under MPS a PE sees its share of the device, but all PEs must cut work alike, so the smallest share counts.
    # A launch has at most one block for each multiprocessor, which leaves room for the user's kernels and for puts.
    max_blocks = min(job.gather(properties["multiProcessorCount"], "look at the devices"))
    # If PEs share the device, their shares may have multiprocessors in common, so some blocks would find none free.
    n_sharing = max(job.gather(joined.n_sharing, "look at the devices"))
    heap = Heap(job, joined.segments, joined.setup)
    peers = Peers(job, joined, numbers, heap, cc)
    compiler = Compiler(peers, cc)
    return Backend(
        name="cuda",
        device_name=properties["name"].decode(),
        bus_id=_runtime.deviceGetPCIBusId(joined.device),
        max_blocks=max_blocks,
        resident_blocks=max_blocks * 7 // 8 if n_sharing > 1 else max_blocks,
        shared=f"{n_sharing} PEs share a GPU" if n_sharing > 1 else "",
        buffer_bytes=256 << 10,
        has_streams=True,
        heap=heap,
        compiler=compiler,
        streams=Streams(joined.order, compiler, peers),
        peers=peers,
    )
