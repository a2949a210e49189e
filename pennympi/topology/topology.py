"""The ``Topology`` of a team: the node and the rail of each of its PEs.

A layout (layout.py) determines both.  Without a layout the processes report their nodes (job/process.py), and NVML and
sysfs determine the rails.
"""

import os
from dataclasses import replace
from typing import Any

from ..backend import Backend
from ..job.job import Job
from ..kernels.algorithm import Topology
from ..settings import setting, shown
from .hardware import Hardware, read_hardware
from .layout import FORM, Layout, lay
from .nics import assign_nics, inter_node_nics


def layout_of(topology: Any, n_pes: int) -> Layout | None:
    """The layout of ``init(topology=...)``, or of PENNYMPI_TOPOLOGY if ``topology`` is None; None for "auto".

    Raises TypeError if ``topology`` is neither a str nor a path, TopologyError.
    """
    if topology is None:
        topology = setting("PENNYMPI_TOPOLOGY")
    if not isinstance(topology, str | os.PathLike) or not isinstance(os.fspath(topology), str):
        raise TypeError(f"topology {shown(topology)} is not a name and not a path: give {FORM}")
    name = os.fspath(topology)
    return None if name.lower() == "auto" else lay(name, n_pes)


def topology_of(job: Job, backend: Backend, layout: Layout | None) -> Topology:
    """The topology of a team: nodes, rails, properties of the links, and whether all PEs allow packets.  Collective."""
    packets = all(job.gather(setting("PENNYMPI_PACKETS"), "comparison of PENNYMPI_PACKETS"))
    peers = backend.peers
    if layout:
        node_of, rail_of, in_nodes = layout.node_of, layout.rail_of, peers.ll128_safe
    else:
        nodes = list(dict.fromkeys(process.node for process in job.control.processes))
        node_of = tuple(nodes.index(process.node) for process in job.control.processes)
        rail_of, in_nodes = (), peers.ll128_in_nodes
    one_node = not any(node_of)
    multicast = peers.multicast and one_node
    topology = Topology(node_of, peers.ll128_safe, multicast, rail_of, packets, in_nodes, peers.stores)
    if layout or one_node:
        return topology  # rails connect nodes
    if backend.name != "cuda":
        return replace(topology, rail_of=(0,) * topology.n_pes)  # MPI sends all messages of a node through one NIC
    hardware = job.gather(read_hardware(backend.device_name, backend.bus_id), "detection of NICs")
    return replace(topology, rail_of=rails_of(topology, hardware))


def rails_of(topology: Topology, hardware: list[Hardware]) -> tuple[int, ...]:
    """For each PE, the index of its NIC among its node's ``inter_node_nics``; () if a node has no such NIC.

    hardware: hardware of each PE, in order of PE
    """
    rails = [0] * topology.n_pes
    for pes in topology.nodes:
        nics = inter_node_nics(hardware[pes[0]].nics)
        if not nics:
            return ()
        for pe, rail in zip(pes, assign_nics([hardware[pe].location for pe in pes], nics), strict=True):
            rails[pe] = rail
    return tuple(rails)
