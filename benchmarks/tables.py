"""Write the README's tables of measurements from the raw results.

python benchmarks/tables.py            reads benchmarks/results/*.json, rewrites README.md between its marks
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from pennympi.bench.columns import OURS  # noqa: E402
from pennympi.bench.result import read  # noqa: E402
from pennympi.bench.rivals import RIVALS  # noqa: E402
from pennympi.bench.sizes import show  # noqa: E402

TITLES = {"allreduce": "AllReduce"}


def tables(path):
    """Markdown for one result of ``python -m pennympi bench``: a table for each dtype and op."""
    result = read(path)
    facts = result.facts
    rivals = [name for name in result.contestants() if name in RIVALS]
    versions = ", ".join(dict.fromkeys(facts[name] for name in rivals))
    where = f"{facts['PEs']} x {facts['device']}"
    on = ", ".join(
        filter(None, [versions, *(f"{key} {facts[key]}" for key in ("NVSHMEM", "CUDA driver") if key in facts)])
    )
    parts = []
    for group in result.groups():
        row = group.rows[0]
        kind = ", ".join(filter(None, [TITLES.get(row.collective, row.collective), row.dtype, row.op]))
        mode = {"graph": "in a CUDA graph", "eager": "launched one by one", "host": "on the host"}[row.mode]
        parts.append(
            f"{kind}, {where}, {mode}, slowest PE, median us a call ({on}; [raw](benchmarks/results/{path.name})):"
        )
        head = ["size", OURS, *rivals, *(["times faster than the best of the others"] if rivals else [])]
        lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        series = {name: group.series(name) for name in (OURS, *rivals)}
        for size, ours in series[OURS].items():
            us = {name: series[name][size].median_us for name in rivals if size in series[name]}
            cells = [show(size), f"{ours.median_us:.2f}", *(f"{us[name]:.2f}" if name in us else "" for name in rivals)]
            cells += [f"{min(us.values()) / ours.median_us:.2f}"] if us else []
            lines.append("| " + " | ".join(cells) + " |")
        parts.append("\n".join(lines))
    if result.host_us:
        cost = ", ".join(f"{name} {us:.1f} us" for name, us in result.host_us.items())
        parts.append(f"Host time of a call at the smallest size: {cost}.")
    return "\n\n".join(parts)


def main():
    results = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
    text = "\n\n".join(tables(path) for path in results)
    readme = ROOT / "README.md"
    marks = r"(<!-- measured -->\n).*(<!-- /measured -->)"
    readme.write_text(re.sub(marks, lambda m: m[1] + text + "\n" + m[2], readme.read_text(), flags=re.DOTALL))


if __name__ == "__main__":
    main()
