"""Write the README's tables of measurements from the raw results.

python benchmarks/tables.py            reads benchmarks/results, rewrites README.md between its marks
python benchmarks/tables.py --plots    and draws each result of the bench beside it, as PNG and SVG
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from pennympi.bench import plot  # noqa: E402
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


def solver():
    """Markdown for the results of ``python -m apps.jacobi --json`` and for the lines of runs that were only printed."""
    head = ["GPUs", "grid", "variant", "norm every", "sweeps", "s", "GLUP/s", "raw"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    folder = ROOT / "benchmarks" / "results" / "jacobi"
    printed = (folder / "variants-H200.txt").read_text()
    for key, variant, every in (
        ("s1", "single", 1),
        ("s100", "single", 100),
        ("b1", "blocked", 1),
        ("b100", "blocked", 100),
    ):
        seconds, glups = re.search(rf"^{key} .*1 PE: ([\d.]+) s, .*, ([\d.]+) GLUP/s", printed, re.MULTILINE).groups()
        raw = "[raw](benchmarks/results/jacobi/variants-H200.txt)"
        lines.append(f"| 1 | 16384 x 16384 | {variant} | {every} | 1000 | {seconds} | {float(glups):.0f} | {raw} |")
    for path in sorted(folder.glob("*.json")):
        run = json.loads(path.read_text())
        problem = run["problem"]
        grid = f"{problem['nx']} x {problem['ny']}"
        cells = [path.name.split("x")[0], grid, run["variant"], problem["nccheck"], run["iterations"]]
        cells += [f"{run['runtime_s']:.4f}", f"{run['glups']:.0f}", f"[raw](benchmarks/results/jacobi/{path.name})"]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def main():
    results = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
    if "--plots" in sys.argv:
        for path in results:
            plot.draw(read(path), path.with_suffix(""))
    parts = {"measured": "\n\n".join(tables(path) for path in results), "solver": solver()}
    readme = ROOT / "README.md"
    text = readme.read_text()
    for mark, part in parts.items():
        text = re.sub(
            rf"(<!-- {mark} -->\n).*(<!-- /{mark} -->)",
            lambda m, part=part: m[1] + part + "\n" + m[2],
            text,
            flags=re.DOTALL,
        )
    readme.write_text(text)


if __name__ == "__main__":
    main()
