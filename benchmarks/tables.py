"""Write the tables of docs/, and the plots of docs/plots, from the results in benchmarks/results.

python benchmarks/tables.py            rewrite the documents between their marks
python benchmarks/tables.py --plots    also draw the plots anew
python benchmarks/tables.py --check    write nothing; status 1 if a document is not what the results make

benchmarks/measure.py measures a result; the caption of its table names the command.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import plots  # noqa: E402
import predictions  # noqa: E402
from measure import COMMANDS  # noqa: E402
from rows import RESULTS, best, read  # noqa: E402

from pennympi.bench import result  # noqa: E402
from pennympi.bench.baselines import BASELINES  # noqa: E402
from pennympi.bench.columns import OURS  # noqa: E402
from pennympi.units import size_text  # noqa: E402

TITLES = {
    "allreduce": "AllReduce", "reduce_scatter": "ReduceScatter", "all_gather": "AllGather",
    "all_gatherv": "AllGather by counts", "reduce_scatterv": "ReduceScatter by counts",
    "all_to_allv": "All-to-all by counts",
}  # fmt: skip
MODES = {"graph": "in a CUDA graph", "eager": "one by one", "host": "on CPUs"}
LIBRARIES = ("NCCL", "NVSHMEM", "CUDA driver", "numba", "numba-cuda", "mpi")
HALO_WAYS = {
    "packed": "Sendrecv, packed", "subarrays": "Sendrecv, subarrays", "persistent": "persistent requests, packed",
    "nccl": "NCCL", "mpi": "mpi4py, staged",
}  # fmt: skip


def results(*names):
    """The files of results of commands, in the order of the commands."""
    return [path for name in names for path in sorted(RESULTS.glob(f"{name}-[0-9]x*.json"))]


def table(head, lines):
    """A table in Markdown.  head: texts;  lines: of cells"""
    first, *others = ["| " + " | ".join(map(str, one)) + " |" for one in (head, *lines)]
    return "\n".join([first, "|" + "---|" * len(head), *others])


def source(path, up=".."):
    """The end of a caption: the raw result, and what measures it."""
    name = next(one for one in sorted(COMMANDS, key=len, reverse=True) if path.name.startswith(f"{one}-"))
    return f"[raw]({up}/benchmarks/results/{path.name}), `benchmarks/measure.py {name}`"


def machine(facts):
    """The PEs and their device, and the libraries, in words."""
    named = [f"{key} {facts[key]}".removeprefix("mpi ") for key in LIBRARIES if key in facts]
    return f"{facts['PEs']} x {facts['device']}, {', '.join([*named, facts.get('date', '')]).rstrip(', ')}"


def short(us):
    """A time as tables of solvers have it."""
    return "" if us is None else f"{us:.1f}" if us < 100 else f"{us:.0f}"


# Collectives ---------------------------------------------------------------------------
def collective(path):
    """A caption and a table for a result of the bench command: its baselines beside it, or dtypes and ops."""
    found = result.read(path)
    groups, facts = found.groups(), found.facts
    row, names = groups[0].rows[0], sorted(found.implementations(), key=lambda name: name in BASELINES)
    if len(groups) > 1:
        columns = {f"{one.rows[0].dtype} {one.rows[0].op}": one.series(OURS) for one in groups}
        what = f"{TITLES[row.collective]} of other dtypes and ops"
    else:
        columns = {name: groups[0].series(name) for name in names}
        what = ", ".join(filter(None, [TITLES[row.collective], row.dtype, row.op]))
    head, faster = ["size", *columns], plots.ratios(found)
    lines = []
    for size in columns[next(iter(columns))]:
        cells = [f"{rows[size].median_us:.2f}" if size in rows else "" for rows in columns.values()]
        ratio = [f"{faster[size]:.2f}" if size in faster else ""] if faster else []
        lines.append([size_text(size), *cells, *ratio])
    head += ["times faster than the best of the others"] if faster else []
    versions = dict.fromkeys(facts[name] for name in names if name in BASELINES)
    on = ", ".join([*versions, *(f"{key} {facts[key]}" for key in ("NVSHMEM", "CUDA driver") if key in facts)])
    plan = ", plans" if found.options.get("plan") == "True" else ""  # options are kept as texts
    where = f"{facts['PEs']} x {facts['device']}, {MODES[row.mode]}{plan}"
    parts = [f"{what}, {where}, slowest PE, median us a call ({on}; {source(path)}):", table(head, lines)]
    if found.host_us:
        cost = ", ".join(f"{name} {us:.1f} us" for name, us in found.host_us.items())
        parts.append(f"Host time of a call at the smallest size: {cost}.")
    return parts


def between_hosts(path):
    """AllReduce between hosts on CPUs: MPI, what is chosen, and the fastest algorithm."""
    found, lines = result.read(path), []
    theirs, ours = found.series("mpi"), found.series(OURS)
    for size, row in ours.items():
        all_us = {
            name: found.series(name)[size].median_us for name in found.implementations() if name not in (OURS, "mpi")
        }
        fastest = min(all_us, key=all_us.get)
        cells = [f"{theirs[size].median_us:.0f}", f"{row.median_us:.0f}", f"{theirs[size].median_us / row.median_us:.2f}"]
        lines.append([size_text(size), *cells, f"{fastest} {all_us[fastest]:.0f}"])
    where = f"{found.facts['nodes']}, {found.facts['mpi']}"
    head = ["AllReduce", "MPI, us", "as chosen, us", "times faster", "fastest algorithm, us"]
    return [f"Plans, median, slowest PE, {where} ({source(path, '../..')}):", table(head, lines)]


# Solvers -------------------------------------------------------------------------------
def solver(path):
    """The seconds of the solver, of one sweep a pass and blocked, beside NVIDIA's samples."""
    facts, rows = read(path)
    lines = []
    for n, nccheck, pes in sorted({(-row["n"], row["nccheck"], row["pes"]) for row in rows}):
        plain, blocked, theirs = plots.solver_best(rows, n=-n, nccheck=nccheck, pes=pes)
        cells = [f"{-n} x {-n}", pes, plots.every(nccheck)]
        cells += [f"{plain['seconds']:.4f} ({plain['variant']})" if plain else ""]
        cells += [f"{blocked['seconds']:.4f}" if blocked else ""]
        cells.append(f"{theirs['seconds']:.4f} ({short_name(theirs['variant'])})" if theirs else "")
        cells.append(", ".join(f"{theirs['seconds'] / one['seconds']:.1f}" for one in (plain, blocked) if theirs and one))
        alone = plots.solver_best(rows, n=-n, nccheck=nccheck, pes=1)
        pairs = [(one, other) for one, other in zip((plain, blocked), alone, strict=False) if one and other]
        shares = [f"{100 * other['seconds'] / pes / one['seconds']:.0f} %" for one, other in pairs]
        lines.append([*cells, ", ".join(shares) if pes > 1 else ""])
    head = ["grid", "PEs", "norm", "one sweep a pass", "`blocked`", "NVIDIA's best sample", "times faster, of the two"]
    what = f"{machine(facts)}, float32, 1000 sweeps, seconds of the slowest PE ({source(path)}):"
    return [what, table([*head, "efficiency against one PE, of the two"], lines)]


def short_name(variant):
    """The name of a sample of NVIDIA's without its options."""
    name, _, options = variant.removeprefix("NVIDIA ").partition(" -")
    return f"{name}, its options" if "norm_overlap" in options else name


def halos_on_cpus(paths):
    """Six faces on CPUs beside mpi4py."""
    lines = []
    for facts, rows in map(read, paths):
        for (points, dims), us in by_case(rows).items():
            cells = [facts["PEs"], facts["mpi"].replace(" Version:", ""), f"{points}^3", dims]
            cells += [f"{us[way]['host']:.0f}" for way in ("packed", "subarrays", "persistent", OURS)]
            least = min(one["host"] for way, one in us.items() if way != OURS)
            lines.append([*cells, f"{least / us[OURS]['host']:.2f}"])
    ways = [HALO_WAYS[way] for way in ("packed", "subarrays", "persistent")]
    head = ["PEs", "MPI", "points a PE", "PEs by dimension", *ways, "`plan_exchange`", "times faster"]
    raw = ", ".join(f"[{path.stem}](../../benchmarks/results/{path.name})" for path in paths)
    where = f"{facts['cores']} cores of {facts['device']}"
    return [
        f"Six faces of a float64 field, us, slowest PE, median, on {where} (raw: {raw}; `benchmarks/measure.py halo`):",
        table(head, lines),
    ]


def by_case(rows):
    """{(points, dims): {way: us}} of rows of exchanges."""
    cases = {}
    for row in rows:
        cases.setdefault((row["points"], " x ".join(map(str, row["dims"]))), {})[row["way"]] = row["us"]
    return cases


def halos_on_gpus(path):
    """Six faces on GPUs beside NCCL and mpi4py."""
    facts, rows = read(path)
    lines = []
    for (points, dims), us in by_case(rows).items():
        cells = [short(us[way].get(mode)) for way in (OURS, "nccl") for mode in ("eager", "graph")]
        ours, nccl, mpi = (min(us[way].values()) for way in (OURS, "nccl", "mpi"))
        lines.append([f"{points}^3", dims, *cells, short(mpi), f"{nccl / ours:.1f}", f"{mpi / ours:.1f}"])
    modes = [f"{name}, {MODES[mode]}" for name in ("`plan_exchange`", "NCCL") for mode in ("eager", "graph")]
    head = ["points a PE", "PEs by dimension", *modes, HALO_WAYS["mpi"], "times faster than NCCL", "than mpi4py"]
    what = f"Six faces of a float64 field, periodic, us, {machine(facts)} ({source(path, '../..')}):"
    return ["![Six faces on two GPUs: us, beside NCCL and MPI](../plots/halos.svg)", what, table(head, lines)]


def sweeps(paths):
    """Sweeps by the library's engines, beside NVIDIA's sample and a copy."""
    parts = []
    for path in paths:
        facts, rows = read(path)
        lines = []
        for row in rows:
            points = f"{row['n']}^{row.get('dims', 3 if row['case'] == 'heat' else 2)} {row['dtype']}"
            norm = {"every": "every", "True": "last"}.get(row.get("norm"), "")
            engine = f"{row['engine']}, {row['depth']} deep" if "depth" in row else ""
            lines.append([row["case"], points, norm, engine, short(row.get("us")), short(row.get("GLUP_per_s"))])
        parts.append(f"us a sweep ({machine(facts)}, {source(path, '../..')}); a copy reads and writes as many bytes:")
        parts.append(table(["sweep", "points", "norm", "engine", "us", "points/ns"], [one for one in lines if one[4]]))
    return parts


def iterations(paths):
    """Iterations of conjugate gradients beside others'."""
    found = [(facts["PEs"], [row for row in rows if "us" in row]) for facts, rows in map(read, paths)]
    names = list(dict.fromkeys(row["variant"] for _, rows in found for row in rows))
    lines = []
    for pes, rows in found:
        for n in sorted({row["n"] for row in rows}):
            us = {name: best(rows, "us", n=n, variant=name) for name in names}
            lines.append([f"{n}^3", pes, *(short(row["us"]) if row else "" for row in us.values())])
    raw = "; ".join(f"{machine(read(path)[0])}, {source(path, '../..')}" for path in paths)
    picture = "![An iteration on two GPUs: us, beside others](../plots/cg.svg)"
    return [picture, f"us an iteration, float64 unless it says float ({raw}):", table(["points", "PEs", *names], lines)]


CASES = {
    "loop": "The same body in a loop of the host and in one of the device, float64, a norm in every second sweep",
    "jacobi": "The [solver](../../apps/jacobi/README.md) by each variant, float32, a norm in every sweep",
}


def by_size(rows, dims):
    """us, a line for each variant, a column for each size."""
    sizes, lines = sorted({row["n"] for row in rows}), {}
    for row in rows:
        lines.setdefault(row["variant"], {})[row["n"]] = row["us"]
    cells = [[name, *(short(us.get(n)) for n in sizes)] for name, us in lines.items()]
    return table(["variant", *(f"{n}^{dims}" for n in sizes)], cells)


def loops(paths):
    """Loops of the host and of the device; the solver's variants."""
    parts = []
    for facts, rows, where in ((*read(path), source(path, "../..")) for path in paths):
        for case, what in CASES.items():
            some = [row for row in rows if row.get("case") == case and "us" in row]
            parts += [f"{what} ({machine(facts)}, {where}), us a sweep:", by_size(some, 2)]
    return parts


def methods(paths):
    """Iterations of conjugate gradients on one PE by every method, and how each converges."""
    parts = []
    for facts, rows, where in ((*read(path), source(path, "../..")) for path in paths):
        cubes = [row for row in rows if "case" not in row and "us" in row]
        noise = [row for row in rows if row.get("f") == "noise"]
        lines = [[row["variant"], row["iterations"], f"{row['least_residual']:.1e}"] for row in noise]
        parts += [f"us an iteration ({machine(facts)}, {where}):", by_size(cubes, 3)]
        parts.append(f"A right-hand side of noise on {noise[0]['n']}^3 points, in the same run, norms over that of f:")
        parts.append(table(["variant", "iterations to 1e-8", "least residual, computed anew"], lines))
    return parts


def documents():
    """{path from the root: {mark: paragraphs}} of what the results and the cost model make."""
    bench = [name for name in COMMANDS if name.startswith(tuple(TITLES))]
    return {
        "docs/algorithms.md": {mark: [text] for mark, text in predictions.parts().items()},
        "docs/measurements.md": {
            "measured": [part for path in results(*bench) for part in collective(path)],
            "solver": [part for path in results("jacobi") for part in solver(path)],
        },
        "docs/guides/hosts.md": {"between": [part for path in results("between-hosts") for part in between_hosts(path)]},
        "docs/guides/grids.md": {
            "faces": halos_on_cpus([path for path in results("halo") if "cpu" in path.name]),
            "gpus": [part for path in results("halo") if "cpu" not in path.name for part in halos_on_gpus(path)],
        },
        "docs/guides/sweeps.md": {"sweeps": sweeps(results("sweeps"))},
        "docs/guides/poisson.md": {"cg": iterations(results("cg")[::-1]), "methods": methods(results("loops"))},
        "docs/guides/loops.md": {"loops": loops(results("loops"))},
    }


def filled(name, marks):
    """A document with other text between its marks."""
    text = (ROOT / name).read_text()
    for mark, parts in marks.items():
        before, after = (text.index(f"<!-- {one}{mark} -->") for one in ("", "/"))
        text = text[:before] + f"<!-- {mark} -->\n" + "\n\n".join(parts) + "\n" + text[after:]
    return text


def main(argv):
    made = {name: filled(name, marks) for name, marks in documents().items()}
    if "--check" in argv:
        stale = [name for name, text in made.items() if (ROOT / name).read_text() != text]
        print("\n".join(f"{name} is not what benchmarks/tables.py writes" for name in stale))
        return 1 if stale else 0
    for name, text in made.items():
        (ROOT / name).write_text(text)
    if "--plots" in argv:
        plots.write(ROOT / "docs" / "plots")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
