"""Write the tables of docs/measurements.md, docs/reasons.md and docs/guides/, and the plots of docs/plots.

python benchmarks/tables.py            read benchmarks/results, and rewrite the documents between their marks
python benchmarks/tables.py --plots    also draw the plots anew
python benchmarks/tables.py --check    write nothing; status 1 if a document is not what the results make

jacobi-*.json are results of benchmarks/jacobi.py, order-*.json of benchmarks/order_cost.py, records-*.json two checkouts
timed by turns, cost-*.json of benchmarks/before_after.py, hosts-*.json and predicted-*.json of benchmarks/hosts.py,
halo-*.json of benchmarks/halo.py, grids-*.json of benchmarks/grids.py,
tried-*.json tables of trials, and all others of ``python -m pennympi bench``.  Those of the collectives are made by
benchmarks/collectives.py.
"""

import json
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import collectives_tables  # noqa: E402
import grids_tables  # noqa: E402
import halo_table  # noqa: E402
import hosts_table  # noqa: E402
import jacobi_results  # noqa: E402
import plots  # noqa: E402
import solver_table  # noqa: E402

from pennympi.bench.sizes import show  # noqa: E402


def position(path):
    """Sort key of a result: AllReduce first, tables of dtypes and of accuracy last."""
    return not path.name.startswith("allreduce-"), "dtypes" in path.name or "accuracy" in path.name, path.name


def single_runs(folder):
    """Markdown for the results of ``python -m apps.jacobi --json`` in a folder: [caption and table], or []."""
    lines = ["| PEs | grid | variant | norm every | s | GLUP/s |", "|" + "---|" * 6]
    for path in sorted(folder.glob("*.json")):
        run = json.loads(path.read_text())
        problem = run["problem"]
        cells = [path.name.split("x")[0], f"{problem['nx']} x {problem['ny']}", run["variant"], problem["nccheck"]]
        cells += [f"{run['runtime_s']:.4f}", f"{run['glups']:.0f}"]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    caption = "Single runs of 1000 sweeps by the solver itself, on H200s, before its sweeps fetched rows as they do now "
    raw = f"[raw](../{folder.relative_to(ROOT)})"
    return [f"{caption}({raw}):\n\n" + "\n".join(lines)] if len(lines) > 2 else []


def caption(what, n_pes, facts, path):
    """What stands above a table of docs/reasons.md."""
    where = f"{n_pes} x {facts['device']}, NVSHMEM {facts['NVSHMEM']}, CUDA driver {facts['CUDA driver']}"
    return f"{what}, {where} ([raw](../benchmarks/results/{path.name})):\n\n"


def order_cost(path):
    """Markdown for a result of benchmarks/order_cost.py."""
    data = json.loads(path.read_text())
    trees = list(dict.fromkeys(tree for tree, *_ in data["rows"]))
    facts = data[f"facts of {trees[-1]}"]
    kinds = ("host", "device")
    head = ["size", "calls", *(f"{kind}, {tree}" for kind in kinds for tree in trees)]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    times = {(tree, nbytes, what): us for tree, nbytes, what, *us in data["rows"]}
    for nbytes, what in dict.fromkeys((nbytes, what) for _, nbytes, what in times):
        cells = [f"{times[tree, nbytes, what][k]:.2f}" for k in range(len(kinds)) for tree in trees]
        lines.append("| " + " | ".join([show(nbytes), what, *cells]) + " |")
    return caption("us a call of AllReduce, slowest PE, median", facts["n_pes"], facts, path) + "\n".join(lines)


def before_and_after(path):
    """Markdown for AllReduce and the solver, timed by turns before and after a change."""
    data = json.loads(path.read_text())
    facts = data["facts"]
    lines = ["| AllReduce | before, us | after, us | ratio |", "|---|---|---|---|"]
    for row in data["allreduce"]["rows"]:
        before, after = min(row["before_us"]), min(row["after_us"])
        lines.append(f"| {show(row['size_bytes'])} | {before:.2f} | {after:.2f} | {after / before:.3f} |")
    lines += ["", "| solver, 300 sweeps | grid, norm every | before, ms | after, ms | ratio |", "|---|---|---|---|---|"]
    for row in data["solver"]["rows"]:
        before, after = 1e3 * min(row["before_s"]), 1e3 * min(row["after_s"])
        case = f"{row['variant']} | {row['n']}^2, {row['nccheck']}"
        lines.append(f"| {case} | {before:.2f} | {after:.2f} | {after / before:.3f} |")
    return caption(data["what"], facts["PEs"], facts, path) + "\n".join(lines)


def cost(path):
    """Markdown for a result of benchmarks/before_after.py: medians of the jobs of each checkout, which took turns."""
    data = json.loads(path.read_text())
    facts, parts = data["facts"], []
    for n_pes, rows in data["pes"].items():
        table = {}
        for what, row in rows.items():
            kind, _, column = what.partition(", ")
            kind, column = (column, "host time") if kind == "host" else (show(int(column)), kind)
            before, after = (statistics.median(row[key]) for key in ("before_us", "after_us"))
            table.setdefault(kind, {})[column] = f"{before:.2f}, {after:.2f}, {row['ratio']:.3f}"
        columns = list(dict.fromkeys(column for cells in table.values() for column in cells))
        lines = ["| us before, after, ratio | " + " | ".join(columns) + " |", "|" + "---|" * (1 + len(columns))]
        lines += [f"| {kind} | " + " | ".join(row.get(one, "") for one in columns) + " |" for kind, row in table.items()]
        commits, on_gpus = data["commits"], "NVSHMEM" in facts
        what = f"Commits {commits['before']} and {commits['after']}, {facts['turns']} jobs each, by turns"
        where = f"{n_pes} x {facts['device']}" if on_gpus else f"{n_pes} PEs on {facts['device']}"
        parts.append(f"{what}, {where} ([raw](../benchmarks/results/{path.name})):\n\n" + "\n".join(lines))
    return "\n\n".join(parts)


def filled(name, parts):
    """A document with other text between its marks.  parts: {mark: its paragraphs}"""
    text = (ROOT / name).read_text()
    for mark, found in parts.items():
        if not found:  # there are no such results: the text stays
            continue
        before, after = (text.index(f"<!-- {one}{mark} -->") for one in ("", "/"))
        text = text[:before] + f"<!-- {mark} -->\n" + "\n\n".join(found) + "\n" + text[after:]
    return text


def documents():
    """{path from the root: text} of the documents that the results make."""
    folder = ROOT / "benchmarks" / "results"
    solved = sorted(folder.glob("jacobi-*.json"))
    ordered = sorted(folder.glob("order-*.json"))
    compared = sorted(folder.glob("records-*.json"))
    costs = sorted(folder.glob("cost-*.json"))
    between = sorted(folder.glob("hosts-*.json"))
    expected = sorted(folder.glob("predicted-*.json"))
    faces = sorted(folder.glob("halo-*.json"))
    on_gpus = sorted(folder.glob("grids-*.json"), reverse=True)  # of most GPUs first
    tried = sorted(folder.glob("tried-*.json"))
    others = [*tried, *solved, *ordered, *compared, *costs, *between, *expected, *faces, *on_gpus]
    results = [path for path in sorted(folder.glob("*.json"), key=position) if path not in others]
    measured = {
        "measured": list(map(collectives_tables.markdown, results)),
        "solver": [solver_table.markdown(jacobi_results.read(path), path.name) for path in solved]
        + single_runs(folder / "jacobi"),
        "tried": [part for path in tried for part in collectives_tables.tried(path)],
    }
    reasons = {"order": [order_cost(path) for path in ordered], "records": [before_and_after(path) for path in compared]}
    reasons["cost"] = [cost(path) for path in costs]
    found = {"docs/measurements.md": measured, "docs/reasons.md": reasons}
    between_hosts = {"between": map(hosts_table.markdown, between), "expected": map(hosts_table.predicted, expected)}
    found["docs/guides/hosts.md"] = {name: list(parts) for name, parts in between_hosts.items()}
    exchanged = [part for path in on_gpus for part in grids_tables.grids(path)]
    found["docs/guides/grids.md"] = {"faces": [halo_table.markdown(path) for path in faces], "gpus": exchanged}
    found["docs/guides/poisson.md"] = {"cg": [part for path in on_gpus for part in grids_tables.poisson(path)]}
    return {name: filled(name, parts) for name, parts in found.items()}


def main(argv):
    made = documents()
    if "--check" in argv:
        stale = [name for name, text in made.items() if (ROOT / name).read_text() != text]
        print("\n".join(f"{name} is not what benchmarks/tables.py writes" for name in stale))
        return 1 if stale else 0
    for name, text in made.items():
        (ROOT / name).write_text(text)
    if "--plots" in argv:
        plots.write(ROOT / "benchmarks" / "results", ROOT / "docs" / "plots")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
