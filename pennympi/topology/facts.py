"""The topology of a team as plain data, and as a table."""

from collections.abc import Sequence
from typing import Any

from ..kernels.algorithm import Topology
from ..kernels.rings import no_rings, rings
from .distance import distance
from .hardware import Hardware
from .layout import Layout
from .nics import inter_node_nics
from .topology import rails_of


def facts(topology: Topology, layout: Layout | None, hardware: Sequence[Hardware]) -> dict[str, Any]:
    """Everything that is known of a team's topology, ready for JSON.

    hardware: of each PE, in order of PE

    The result holds:
    n_pes
    laid_by:  the name or file of the layout, or None
    nodes:    for each node its PEs, NICs and matrix of links between its PEs
    rings:    for each ring of multi_ring its PEs in order; [] if multi_ring cannot run
    no_rings: why multi_ring cannot run, or ""
    """
    rails = topology.rails if topology.rail_of or layout else rails_of(topology, list(hardware)) or topology.rails
    return {
        "n_pes": topology.n_pes,
        "laid_by": layout.name if layout else None,
        "nodes": [
            {
                "node": node,
                "pes": [_pe(pe, rails[pe], [hardware[other] for other in pes], hardware[pe], layout) for pe in pes],
                "nics": [
                    {"name": n.name, "kind": n.kind, "gbit_s": n.gbit_s, "up": n.up, "numa": n.location.numa}
                    for n in hardware[pes[0]].nics
                ],
                "links": [[link(hardware[pe], hardware[other], pe == other) for other in pes] for pe in pes],
            }
            for node, pes in enumerate(topology.nodes)
        ],
        "rings": [] if no_rings(topology) else [list(ring) for ring in rings(topology)],
        "no_rings": no_rings(topology),
    }


def _pe(pe: int, rail: int, node: Sequence[Hardware], own: Hardware, layout: Layout | None) -> dict[str, Any]:
    """The facts of one PE.  node: the hardware of the PEs of its node"""
    fact = {"pe": pe, "host": own.host, "device": own.device, "bus_id": own.bus_id, "numa": own.location.numa}
    fact |= {"rail": rail, "nic": "", "gbit_s": 0, "distance": ""}
    on_gpus = all(one.bus_id for one in node)
    if not layout and on_gpus and (serving := inter_node_nics(node[0].nics)):
        nic = serving[rail]
        fact |= {"nic": nic.name, "gbit_s": nic.gbit_s, "distance": distance(own.location, nic.location)}
    return fact


def link(one: Hardware, other: Hardware, same_pe: bool) -> str:
    """How a PE reaches another PE of its node, in the words of nvidia-smi; "X" for itself.

    NV18: by 18 NVLinks;  SAME: one device;  SHM: shared memory;  NET: between hosts;  else as ``distance``
    """
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


COLUMNS = ("node", "host", "PE", "device", "PCI", "NUMA", "links", "rail", "NIC", "Gb/s", "away")


def table(found: dict[str, Any]) -> str:
    """The result of ``facts`` as a table, a line for each PE; columns without content are left out."""
    rows: list[Sequence[Any]] = [COLUMNS]
    for node in found["nodes"]:
        for one, links in zip(node["pes"], node["links"], strict=True):
            others = set(links) - {"X"}
            numa, link_words = "" if one["numa"] < 0 else one["numa"], " ".join(links if len(others) > 1 else others)
            where = (node["node"], one["host"], one["pe"], one["device"], one["bus_id"], numa)
            rows.append((*where, link_words, one["rail"], one["nic"], one["gbit_s"] or "", one["distance"]))
    cells = [[f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    kept = [i for i in range(len(COLUMNS)) if any(row[i] for row in cells[1:])]
    widths = {i: max(len(row[i]) for row in cells) for i in kept}
    laid = f", laid by {found['laid_by']}" if found["laid_by"] else ""
    lines = [f"{found['n_pes']} PEs on {len(found['nodes'])} nodes{laid}"]
    lines += ["  ".join(row[i].ljust(widths[i]) for i in kept).rstrip() for row in cells]
    count = len(found["rings"])
    lines.append(f"multi_ring: {count} rings" if count else f"multi_ring can't run: {found['no_rings']}")
    return "\n".join(lines)
