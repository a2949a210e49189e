"""The table of docs/guides/grids.md, from the results of benchmarks/halo.py."""

import json

WAYS = {"packed": "Sendrecv, packed", "subarrays": "Sendrecv, subarrays", "persistent": "persistent requests, packed"}


def markdown(path):
    """A caption and a table for a result."""
    data = json.loads(path.read_text())
    lines = ["| points a PE | PEs by dimension | " + " | ".join(WAYS.values()) + " | `plan_exchange` | times faster |"]
    lines.append("|" + "---|" * (4 + len(WAYS)))
    for row in data["rows"]:
        us, ours = row["us"], row["us"]["pennympi"]
        cells = [f"{row['points']}^3", " x ".join(map(str, row["dims"])), *(f"{us[name]:.0f}" for name in WAYS)]
        cells += [f"{ours:.0f}", f"{min(us[name] for name in WAYS) / ours:.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
    where = f"{data['PEs']} PEs on {data['cores']} cores of {data['device']}, {data['mpi']}"
    raw = f"[raw](../../benchmarks/results/{path.name})"
    return f"Six faces of a float64 field, us, slowest PE, median, {where} ({raw}):\n\n" + "\n".join(lines)
