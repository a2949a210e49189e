"""The simulated backend: PEs in one process, NumPy arrays, kernels in plain Python."""

from ..backend import Backend
from .compiler import Compiler
from .device import Machine
from .heap import Heap
from .job import Group
from .links import Links
from .streams import Streams

NAME = "simulated"


def make_backend(machine: Machine, me: int, group: Group, streams: Streams) -> Backend:
    """The backend of one team on a PE."""
    heap = Heap(machine, me, group, streams)
    return Backend(
        name=NAME,
        device_name="simulator",
        bus_id="",
        max_blocks=machine.abilities.max_blocks,
        resident_blocks=machine.abilities.max_blocks,
        buffer_bytes=machine.abilities.buffer_bytes,
        has_streams=True,
        heap=heap,
        compiler=Compiler(heap, streams, me),
        streams=streams,
        peers=Links(machine, me, streams),
    )
