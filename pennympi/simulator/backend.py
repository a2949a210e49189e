"""The simulated backend: PEs in one process, NumPy arrays, kernels in plain Python."""

from ..backend import Backend
from .compiler import Compiler
from .heap import Heap
from .job import Group
from .links import Links
from .streams import Streams

NAME = "simulated"


def make_backend(group: Group, me: int, streams: Streams) -> Backend:
    """The backend of a team on a PE.  me: number of the PE in the machine"""
    machine = group.machine
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
        compiler=Compiler(heap, streams, group.pes.index(me), group.pes),
        streams=streams,
        peers=Links(machine, me, group.pes, streams),
        checks=True,
        shared="",
    )
