"""The topology of a team as plain data, for the drawing and for --json."""

from collections.abc import Sequence
from typing import Any

from ..kernels.algorithm import Place
from ..kernels.rings import no_rings, rings
from .distance import distance
from .hardware import Hardware
from .layout import Layout
from .nics import Nic
from .place import rails_of
from .rails import inter_node_nics


def facts(place: Place, layout: Layout | None, hardware: Sequence[Hardware]) -> dict[str, Any]:
    """Everything that is known of a team's topology, ready for JSON.

    hardware: of each PE, in order of PE

    The result holds:
    n_pes
    laid_by:  the name or file of the layout, or None
    nodes:    for each node its hosts, PEs, NICs and matrix of links
    rails:    for each rail its number and, for each node, the PEs that use it
    rings:    for each ring of multi_ring its PEs in order; [] if multi_ring cannot run
    no_rings: why multi_ring cannot run, or ""
    """
    rails = place.rails if place.rail_of or layout else rails_of(place, list(hardware)) or place.rails
    return {
        "n_pes": place.n_pes,
        "laid_by": layout.name if layout else None,
        "nodes": [_node(node, pes, rails, layout, hardware) for node, pes in enumerate(place.nodes)],
        "rails": [
            {"rail": rail, "pes": [[pe for pe in pes if rails[pe] == rail] for pes in place.nodes]}
            for rail in sorted(set(rails))
        ],
        "rings": [] if no_rings(place) else [list(ring) for ring in rings(place)],
        "no_rings": no_rings(place),
    }


def _node(
    node: int, pes: Sequence[int], rails: Sequence[int], layout: Layout | None, hardware: Sequence[Hardware]
) -> dict[str, Any]:
    nics = hardware[pes[0]].nics
    serving = inter_node_nics(nics)
    named = layout.nics[node] if layout and layout.nics else ()
    on_gpus = all(hardware[pe].bus_id for pe in pes)
    shown = []
    for local, pe in enumerate(pes):
        own, rail, nic, away = hardware[pe], rails[pe], "", ""
        if layout:
            nic = named[rail] if named else ""
        elif on_gpus and serving:
            nic, away = serving[rail].name, distance(own.location, serving[rail].location)
        fact = {"pe": pe, "local": local, "device": own.device, "bus_id": own.bus_id, "numa": own.location.numa}
        shown.append(fact | {"rail": rail, "nic": nic, "distance": away})
    columns = [hardware[pe] for pe in pes]
    return {
        "node": node,
        "hosts": sorted({hardware[pe].host for pe in pes}),
        "pes": shown,
        "nics": [{"name": n.name, "kind": n.kind, "gbit_s": n.gbit_s, "up": n.up, "numa": n.location.numa} for n in nics],
        "links": [
            [link(one, other, one is other) for other in columns]
            + ([distance(one.location, nic.location) for nic in _rdma(nics)] if on_gpus else [])
            for one in columns
        ],
        "columns": [*(str(local) for local in range(len(pes))), *(n.name for n in _rdma(nics) if on_gpus)],
    }


def _rdma(nics: Sequence[Nic]) -> list[Nic]:
    """The NICs that the matrix of links shows: those with RDMA."""
    return [nic for nic in nics if nic.kind != "Ethernet"]


def link(one: Hardware, other: Hardware, same_pe: bool) -> str:
    """How a PE reaches another PE of its node, as a key of ``draw.LEGEND`` (NV18: by 18 NVLinks), or "X" for itself."""
    if same_pe:
        return "X"
    if one.host != other.host:
        return "NET"
    if not one.bus_id:
        return "SHM"
    if one.bus_id == other.bus_id:
        return "SAME"
    mine, theirs = one.nvlinks or {}, other.nvlinks or {}
    n = mine.get(other.bus_id, 0) or min(mine.get("switch", 0), theirs.get("switch", 0))
    return f"NV{n}" if n else distance(one.location, other.location)
