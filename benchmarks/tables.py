"""Write the README's tables of measurements from the raw results.

python benchmarks/tables.py            reads benchmarks/results, rewrites README.md between its marks
python benchmarks/tables.py --plots    and draws each result beside it, as PNG and SVG

jacobi-*.json are results of benchmarks/jacobi.py, the others of ``python -m pennympi bench``.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import jacobi_results  # noqa: E402
import solver_table  # noqa: E402

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


def main():
    folder = ROOT / "benchmarks" / "results"
    solved = sorted(folder.glob("jacobi-*.json"))
    results = [path for path in sorted(folder.glob("*.json")) if path not in solved]
    if "--plots" in sys.argv:
        for path in results:
            plot.draw(read(path), path.with_suffix(""))
        for path in solved:
            solver_table.draw(jacobi_results.read(path), path.with_suffix(""))
    parts = {
        "measured": [tables(path) for path in results],
        "solver": [solver_table.markdown(jacobi_results.read(path), path.name) for path in solved],
    }
    readme = ROOT / "README.md"
    text = readme.read_text()
    for mark, found in parts.items():
        if not found:  # nothing of that kind was measured: what the README says stays
            continue
        before, after = (text.index(f"<!-- {one}{mark} -->") for one in ("", "/"))
        begin = f"<!-- {mark} -->\n"
        text = text[:before] + begin + "\n\n".join(found) + "\n" + text[after:]
    readme.write_text(text)


if __name__ == "__main__":
    main()
