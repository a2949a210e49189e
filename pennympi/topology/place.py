"""The ``Place`` of a team: the node and the rail of each of its PEs.

A layout (layout.py) decides both where there is one.  Else the processes tell their nodes (job/process.py), and NVML and
sysfs the rails.
"""

import os
from dataclasses import replace
from typing import Any

from ..backend import Backend
from ..errors import TopologyError
from ..job.job import Job
from ..kernels.algorithm import Place
from ..settings import setting
from .hardware import Hardware, read_hardware
from .layout import FORM, Layout, lay
from .rails import assign_nics, inter_node_nics


def topology_name(topology: Any) -> str:
    """The name or path in ``init(topology=...)``, or in PENNYMPI_TOPOLOGY if that is None.

    Raises TypeError if ``topology`` is neither a str nor a path.
    """
    if topology is None:
        return str(setting("PENNYMPI_TOPOLOGY"))
    if not isinstance(topology, str | os.PathLike):
        raise TypeError(f"topology {topology!r} is not a name and not a path: give {FORM}")
    return os.fspath(topology)


def agree_on_layout(job: Job, name: str) -> Layout | None:
    """The layout of this name or in this file, None for "auto".  Collective.

    Raises TopologyError on every PE if one PE cannot read its layout, or if the layouts of the PEs differ.
    """
    layout, error = None, ""
    try:
        layout = None if name.lower() == "auto" else lay(name, job.n_pes)
    except TopologyError as caught:
        error = str(caught)
    gathered = job.gather((error, layout and (layout.node_of, layout.rail_of, layout.nics), name), "choice of a topology")
    wrong = next((pe for pe, one in enumerate(gathered) if one[0]), None)
    if wrong is not None:
        raise TopologyError(f"PE {wrong}: {gathered[wrong][0]}" if wrong else gathered[0][0])
    other = next((pe for pe, one in enumerate(gathered) if one[1] != gathered[0][1]), None)
    if other is not None:
        raise TopologyError(
            f"the PEs lay different nodes, PE 0 by {gathered[0][2]!r} and PE {other} by {gathered[other][2]!r}: "
            "give every rank the same PENNYMPI_TOPOLOGY or init(topology=...)"
        )
    return layout


def place_of(job: Job, backend: Backend, layout: Layout | None) -> Place:
    """The nodes and rails of the team, what its links can do, and whether all PEs allow packets.  Collective."""
    packets = all(job.gather(setting("PENNYMPI_PACKETS"), "comparison of PENNYMPI_PACKETS"))
    if layout:
        multicast = backend.multicast and not any(layout.node_of)
        return Place(layout.node_of, backend.ll128_safe, multicast, layout.rail_of, packets)
    nodes = list(dict.fromkeys(process.node for process in job.control.processes))
    node_of = tuple(nodes.index(process.node) for process in job.control.processes)
    place = Place(node_of, backend.ll128_safe, backend.multicast and len(nodes) == 1, packets=packets)
    if len(nodes) == 1 or backend.name != "cuda":
        return place  # rails connect nodes
    hardware = job.gather(read_hardware(backend.device_name, backend.bus_id), "detection of NICs")
    return replace(place, rail_of=rails_of(place, hardware))


def rails_of(place: Place, hardware: list[Hardware]) -> tuple[int, ...]:
    """For each PE, the index of its NIC among its node's ``inter_node_nics``; () if a node has no such NIC.

    hardware: of each PE, in order of PE
    """
    rails = [0] * place.n_pes
    for pes in place.nodes:
        nics = inter_node_nics(hardware[pes[0]].nics)
        if not nics:
            return ()
        for pe, rail in zip(pes, assign_nics([hardware[pe].location for pe in pes], nics), strict=True):
            rails[pe] = rail
    return tuple(rails)
