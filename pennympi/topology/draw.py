"""The topology of a team as text."""

from collections.abc import Sequence
from typing import Any

LEGEND = {
    "NV": "NVn: n NVLinks",
    "SAME": "SAME: one device",
    "PIX": "PIX: one PCIe switch",
    "PXB": "PXB: several PCIe switches",
    "PHB": "PHB: the host bridge",
    "NODE": "NODE: host bridges of one NUMA node",
    "SYS": "SYS: between NUMA nodes",
    "SHM": "SHM: shared memory",
    "NET": "NET: between hosts",
    "?": "?: not known",
}


def draw(facts: dict[str, Any]) -> str:
    """A drawing, several lines of text, of the result of ``facts.facts``."""
    nodes = facts["nodes"]
    laid = f", laid by {facts['laid_by']}" if facts["laid_by"] else ""
    lines = [f"{_number(facts['n_pes'], 'PE')} on {_number(len(nodes), 'node')}{laid}"]
    for node in nodes:
        lines += ["", f"node {node['node']}: {', '.join(node['hosts'])}", *_pes(node), *_nics(node)]
    lines += _links(nodes) + _rails(facts) + _rings(facts)
    return "\n".join(lines)


def _number(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells as aligned lines.  A column that is empty below its head is left out."""
    kept = [i for i in range(len(rows[0])) if any(row[i] for row in rows[1:])]
    widths = {i: max(len(row[i]) for row in rows) for i in kept}
    return ["  " + "  ".join(row[i].ljust(widths[i]) for i in kept).rstrip() for row in rows]


def _pes(node: dict[str, Any]) -> list[str]:
    rows = [("PE", "device", "PCI", "NUMA", "rail", "NIC", "away")]
    for one in node["pes"]:
        numa = "" if one["numa"] < 0 else str(one["numa"])
        cells = (str(one["pe"]), one["device"], one["bus_id"], numa, str(one["rail"]), one["nic"], one["distance"])
        rows.append(cells)
    return _table(rows)


def _nics(node: dict[str, Any]) -> list[str]:
    rows = [("NIC", "kind", "speed", "link", "NUMA")]
    for nic in node["nics"]:
        speed = f"{nic['gbit_s']:g} Gb/s" if nic["gbit_s"] else ""
        numa = "" if nic["numa"] < 0 else str(nic["numa"])
        rows.append((nic["name"], nic["kind"], speed, "up" if nic["up"] else "down", numa))
    return _table(rows) if len(rows) > 1 else []


def _links(nodes: list[dict[str, Any]]) -> list[str]:
    """The matrices of links; nodes with the same matrix share one."""
    lines: list[str] = []
    alike: dict[Any, list[str]] = {}
    for node in nodes:
        alike.setdefault((tuple(node["columns"]), tuple(map(tuple, node["links"]))), []).append(str(node["node"]))
    for (columns, links), numbers in alike.items():
        which = f"node{'s' * (len(numbers) > 1)} {', '.join(numbers)}"
        rows = [("", *columns), *((str(local), *row) for local, row in enumerate(links))]
        width = max(len(cell) for row in rows for cell in row)
        lines += ["", f"links of {which}, by local rank"]
        lines += ["  " + " ".join(cell.rjust(width) for cell in row) for row in rows]
        seen = {"NV" if cell.startswith("NV") else cell for row in links for cell in row}
        lines += ["  " + "; ".join(LEGEND[cell] for cell in LEGEND if cell in seen)] * (seen != {"X"})
    return lines


def _rails(facts: dict[str, Any]) -> list[str]:
    if len(facts["nodes"]) == 1:
        return []
    lines = ["", "rails: NICs of the same number, and the PEs that they serve"]
    for one in facts["rails"]:
        served = ("PE " + ", ".join(map(str, pes)) if pes else "none" for pes in one["pes"])
        lines.append(f"  rail {one['rail']}: " + " === ".join(served))
    return lines


def _rings(facts: dict[str, Any]) -> list[str]:
    rings, several = facts["rings"], len(facts["nodes"]) > 1
    if not rings:
        return ["", f"rings of multi_ring: none: {facts['no_rings']}"]
    crossing = "; =R=> goes to the next node by rail R" if several else ""
    share = f"1/{len(rings)}" if len(rings) > 1 else "all"
    lines = ["", f"rings of multi_ring, each with {share} of the vector{crossing}"]
    node_of = {one["pe"]: node["node"] for node in facts["nodes"] for one in node["pes"]}
    rail_of = {one["pe"]: one["rail"] for node in facts["nodes"] for one in node["pes"]}
    for number, ring in enumerate(rings):
        text = ""
        for pe, after in zip(ring, [*ring[1:], ring[0]], strict=True):
            text += f"{pe} " if node_of[pe] == node_of[after] else f"{pe} ={rail_of[pe]}=> "
        lines.append(f"  {number}: {text.rstrip()}")
    return lines
