"""The topology of a team as plain data, and as a table."""

from collections.abc import Sequence
from typing import Any

from ..kernels.algorithm import Topology
from ..kernels.rings import no_rings, rings
from ..units import counted
from .distance import distance
from .hardware import Hardware
from .layout import Layout
from .nics import inter_node_nics
from .topology import rails_of


def facts(topology: Topology, layout: Layout | None, hardware: Sequence[Hardware]) -> dict[str, Any]:
    """The facts of a team's topology, as data for JSON.

    hardware: hardware of each PE, in order of PE

    The result holds:
    n_pes
    laid_by:  name or file of the layout, or None
    nodes:    for each node, its PEs, its NICs and the matrix of links between its PEs
    rings:    for each ring of multi_ring, its PEs in order; [] if multi_ring cannot run
    no_rings: reason why multi_ring cannot run, or None
    """
    rails = topology.rails if topology.rail_of or layout else rails_of(topology, list(hardware)) or topology.rails
    return {
        "n_pes": topology.n_pes,
        "laid_by": layout.name if layout else None,
        "nodes": [
            {
                "node": node,
                "pes": [_pe(pe, rails[pe], [hardware[peer] for peer in pes], hardware[pe], layout) for pe in pes],
                "nics": [
                    {"name": n.name, "kind": n.kind, "gbit_s": n.gbit_s, "up": n.up, "numa": n.location.numa}
                    for n in hardware[pes[0]].nics
                ],
                "links": [[link(hardware[pe], hardware[peer], pe == peer) for peer in pes] for pe in pes],
            }
            for node, pes in enumerate(topology.nodes)
        ],
        "rings": [] if no_rings(topology) else [list(ring) for ring in rings(topology)],
        "no_rings": no_rings(topology),
    }


def _pe(pe: int, rail: int, node: Sequence[Hardware], hardware: Hardware, layout: Layout | None) -> dict[str, Any]:
    """The facts of a PE.  node: hardware of each PE of its node;  hardware: hardware of the PE itself"""
    fact: dict[str, Any] = {"pe": pe, "host": hardware.host, "device": hardware.device, "bus_id": hardware.bus_id}
    fact["numa"] = hardware.location.numa
    fact |= {"rail": rail, "nic": "", "gbit_s": 0, "distance": ""}
    on_gpus = all(peer.bus_id for peer in node)
    if not layout and on_gpus and (serving := inter_node_nics(node[0].nics)):
        nic = serving[rail]
        fact |= {"nic": nic.name, "gbit_s": nic.gbit_s, "distance": distance(hardware.location, nic.location)}
    return fact


def link(first: Hardware, second: Hardware, same_pe: bool) -> str:
    """The link between two PEs of a node, in the words of nvidia-smi; "X" for a PE and itself.

    NV18: 18 NVLinks;  SAME: the same device;  SHM: shared memory;  NET: different hosts;  else as ``distance``
    """
    if same_pe:
        return "X"
    if first.host != second.host:
        return "NET"
    if not first.bus_id:
        return "SHM"
    if first.bus_id == second.bus_id:
        return "SAME"
    first_links, second_links = first.nvlinks or {}, second.nvlinks or {}
    n = first_links.get(second.bus_id, 0) or min(first_links.get("switch", 0), second_links.get("switch", 0))
    return f"NV{n}" if n else distance(first.location, second.location)


COLUMNS = ("node", "host", "PE", "device", "PCI", "NUMA", "links", "rail", "NIC", "Gb/s", "away")


def table(data: dict[str, Any]) -> str:
    """The result of ``facts`` as a table, a line for each PE; columns without content are left out."""
    rows: list[Sequence[Any]] = [COLUMNS]
    for node in data["nodes"]:
        for fact, links in zip(node["pes"], node["links"], strict=True):
            remote_links = set(links) - {"X"}
            numa = "" if fact["numa"] < 0 else fact["numa"]
            link_words = " ".join(links if len(remote_links) > 1 else remote_links)
            columns = (node["node"], fact["host"], fact["pe"], fact["device"], fact["bus_id"], numa)
            rows.append((*columns, link_words, fact["rail"], fact["nic"], fact["gbit_s"] or "", fact["distance"]))
    cells = [[f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    kept = [i for i in range(len(COLUMNS)) if any(row[i] for row in cells[1:])]
    widths = {i: max(len(row[i]) for row in cells) for i in kept}
    laid = f", laid by {data['laid_by']}" if data["laid_by"] else ""
    lines = [f"{counted(data['n_pes'], 'PE')} on {counted(len(data['nodes']), 'node')}{laid}"]
    lines += ["  ".join(row[i].ljust(widths[i]) for i in kept).rstrip() for row in cells]
    count = len(data["rings"])
    lines.append(f"multi_ring: {counted(count, 'ring')}" if count else f"multi_ring can't run: {data['no_rings']}")
    return "\n".join(lines)
