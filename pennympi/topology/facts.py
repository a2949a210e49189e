"""Everything that is known of a team's topology, as plain data: what is drawn, and what --json prints."""

from collections.abc import Sequence
from typing import Any

from ..kernels.algorithm import Place
from ..kernels.rings import no_rings, rings
from .distance import distance
from .layout import Layout
from .nics import Nic
from .place import rails_of
from .rails import fabric
from .sight import Sight


def facts(place: Place, layout: Layout | None, sights: Sequence[Sight]) -> dict[str, Any]:
    """sights: of each PE, in order.

    laid_by: a name, a file or None;  nodes: hosts, PEs, NICs and the matrix of links of each
    rails:   {rail, pes} of each;  rings: the PEs of each ring of multi_ring, in order, or [] and why in no_rings
    """
    rails = place.rails if place.rail_of or layout else rails_of(place, list(sights)) or place.rails
    return {
        "n_pes": place.n_pes,
        "laid_by": layout.name if layout else None,
        "nodes": [_node(node, pes, rails, layout, sights) for node, pes in enumerate(place.nodes)],
        "rails": [
            {"rail": rail, "pes": [[pe for pe in pes if rails[pe] == rail] for pes in place.nodes]}
            for rail in sorted(set(rails))
        ],
        "rings": [] if no_rings(place) else [list(ring) for ring in rings(place)],
        "no_rings": no_rings(place),
    }


def _node(
    node: int, pes: Sequence[int], rails: Sequence[int], layout: Layout | None, sights: Sequence[Sight]
) -> dict[str, Any]:
    nics, serving = sights[pes[0]].nics, fabric(sights[pes[0]].nics)
    named = layout.nics[node] if layout and layout.nics else ()
    on_gpus = all(sights[pe].bus_id for pe in pes)
    shown = []
    for local, pe in enumerate(pes):
        sight, rail, nic, away = sights[pe], rails[pe], "", ""
        if layout:
            nic = named[rail] if named else ""
        elif on_gpus and serving:
            nic, away = serving[rail].name, distance(sight.spot, serving[rail].spot)
        fact = {"pe": pe, "local": local, "device": sight.device, "bus_id": sight.bus_id, "numa": sight.spot.numa}
        shown.append(fact | {"rail": rail, "nic": nic, "distance": away})
    columns = [sights[pe] for pe in pes]
    return {
        "node": node,
        "hosts": sorted({sights[pe].host for pe in pes}),
        "pes": shown,
        "nics": [{"name": n.name, "kind": n.kind, "gbit_s": n.gbit_s, "up": n.up, "numa": n.spot.numa} for n in nics],
        "links": [
            [link(one, other, one is other) for other in columns]
            + ([distance(one.spot, nic.spot) for nic in _near(nics)] if on_gpus else [])
            for one in columns
        ],
        "columns": [*(str(local) for local in range(len(pes))), *(n.name for n in _near(nics) if on_gpus)],
    }


def _near(nics: Sequence[Nic]) -> list[Nic]:
    """The NICs that stand in the matrix of links: those on which RDMA runs."""
    return [nic for nic in nics if nic.kind != "Ethernet"]


def link(one: Sight, other: Sight, same_pe: bool) -> str:
    """How a PE reaches another one of its node: X, SAME (device), NV18, PIX ... SYS, SHM or NET."""
    if same_pe:
        return "X"
    if one.host != other.host:
        return "NET"
    if not one.bus_id:
        return "SHM"
    if one.bus_id == other.bus_id:
        return "SAME"
    mine, theirs = one.links or {}, other.links or {}
    n = mine.get(other.bus_id, 0) or min(mine.get("switch", 0), theirs.get("switch", 0))
    return f"NV{n}" if n else distance(one.spot, other.spot)
