"""The place of a team: laid by a name or a file, or as MPI and the hardware say."""

import os
from dataclasses import replace
from typing import Any

from ..backend import Backend
from ..errors import TopologyError
from ..job.job import Job
from ..kernels.algorithm import Place
from ..settings import setting
from .layout import FORM, Layout, lay
from .rails import fabric, serve
from .sight import Sight, look


def name_of(topology: Any) -> str:
    """The name or path that ``init(topology=...)`` or PENNYMPI_TOPOLOGY gives.  Raises TypeError."""
    if topology is None:
        return str(setting("PENNYMPI_TOPOLOGY"))
    if not isinstance(topology, str | os.PathLike):
        raise TypeError(f"topology {topology!r} is not a name and not a path: give {FORM}")
    return os.fspath(topology)


def agreed(job: Job, name: str) -> Layout | None:
    """The layout that all PEs name alike; None for "auto".  Collective.

    Raises TopologyError, the same on every PE.
    """
    layout, error = None, ""
    try:
        layout = None if name.lower() == "auto" else lay(name, job.n_pes)
    except TopologyError as caught:
        error = str(caught)
    said = job.gather((error, layout and (layout.node_of, layout.rail_of, layout.nics), name), "choice of a topology")
    wrong = next((pe for pe, one in enumerate(said) if one[0]), None)
    if wrong is not None:
        raise TopologyError(f"PE {wrong}: {said[wrong][0]}" if wrong else said[0][0])
    unlike = next((pe for pe, one in enumerate(said) if one[1] != said[0][1]), None)
    if unlike is not None:
        raise TopologyError(
            f"the PEs lay different nodes, PE 0 by {said[0][2]!r} and PE {unlike} by {said[unlike][2]!r}: "
            "give every rank the same PENNYMPI_TOPOLOGY or init(topology=...)"
        )
    return layout


def place_of(job: Job, backend: Backend, layout: Layout | None) -> Place:
    """Nodes and rails of the team, and whether all PEs allow packets.  Collective."""
    packets = all(job.gather(setting("PENNYMPI_PACKETS"), "look at PENNYMPI_PACKETS"))
    if layout:
        multicast = backend.multicast and not any(layout.node_of)
        return Place(layout.node_of, backend.ll128_safe, multicast, layout.rail_of, packets)
    first: list[int] = job.gather(min(job.control.pes), "look at the nodes")  # a node is named by its first PE
    order = sorted(set(first))
    node_of = tuple(order.index(node) for node in first)
    place = Place(node_of, backend.ll128_safe, backend.multicast and len(order) == 1, packets=packets)
    if len(order) == 1 or backend.name != "cuda":
        return place  # a rail leads from node to node
    sights = job.gather(look(backend.device_name, backend.bus_id), "look at the NICs")
    return replace(place, rail_of=rails_of(place, sights))


def rails_of(place: Place, sights: list[Sight]) -> tuple[int, ...]:
    """Of each PE the NIC that serves its GPU best; () where a node has none that is known."""
    rails = [0] * place.n_pes
    for pes in place.nodes:
        nics = fabric(sights[pes[0]].nics)
        if not nics:
            return ()
        for pe, rail in zip(pes, serve([sights[pe].spot for pe in pes], nics), strict=True):
            rails[pe] = rail
    return tuple(rails)
