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
from captions import TOP, link, machine, short, source, table  # noqa: E402
from comm_tables import choices, osu  # noqa: E402
from measure import COMMANDS  # noqa: E402
from rows import RESULTS, read  # noqa: E402

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
NORMS = {"every": "every", "True": "last"}  # of sweeps
HALO_WAYS = {
    "packed": "Sendrecv, packed", "subarrays": "Sendrecv, subarrays", "persistent": "persistent requests, packed",
}  # fmt: skip
MOST_LINES = 20  # of a table of collectives; of more sizes every second is shown


def results(*names):
    """The files of results of commands, in the order of the commands."""
    return [path for name in names for path in sorted(RESULTS.glob(f"{name}-[0-9]x*.json"))]


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
    sizes = list(columns[next(iter(columns))])
    for size in sizes[:: 1 + (len(sizes) > MOST_LINES)]:
        cells = [f"{rows[size].median_us:.2f}" if size in rows else "" for rows in columns.values()]
        ratio = [f"{faster[size]:.2f}" if size in faster else ""] if faster else []
        lines.append([size_text(size), *cells, *ratio])
    head += ["times faster than the best of the others"] if faster else []
    versions = dict.fromkeys(facts[name] for name in names if name in BASELINES)
    on = ", ".join([*versions, *(f"{key} {facts[key]}" for key in ("NVSHMEM", "CUDA driver") if key in facts)])
    plan = ", plans" if found.options.get("plan") == "True" else ""  # options are kept as texts
    where = f"{facts['PEs']} x {facts['device']}, {MODES[row.mode]}{plan}"
    yield f"{what}, {where}, slowest PE, median us a call ({on}; {source(path)}):"
    yield table(head, lines)
    if found.host_us:
        cost = ", ".join(f"{name} {us:.1f} us" for name, us in found.host_us.items())
        yield f"Host time of a call at the smallest size: {cost}."


def between_hosts(path):
    """AllReduce between hosts on CPUs: MPI, what is chosen, and the fastest algorithm."""
    found, lines = result.read(path), []
    us = {name: {size: row.median_us for size, row in found.series(name).items()} for name in found.implementations()}
    theirs, ours = us.pop("mpi"), us.pop(OURS)
    for size in ours:
        fastest = min(us, key=lambda name: us[name][size])
        cells = [f"{theirs[size]:.0f}", f"{ours[size]:.0f}", f"{theirs[size] / ours[size]:.2f}"]
        lines.append([size_text(size), *cells, f"{fastest} {us[fastest][size]:.0f}"])
    yield f"Plans, median, slowest PE, {found.facts['nodes']}, {found.facts['mpi']} ({source(path)}):"
    yield table(["AllReduce", "MPI, us", "as chosen, us", "times faster", "fastest algorithm, us"], lines)


# Solvers -------------------------------------------------------------------------------
def solver(path):
    """The seconds of the solver, of one sweep a pass and blocked, beside NVIDIA's samples."""
    facts, rows = read(path)
    lines, cases = [], dict(plots.solver_cases(rows))
    for (n, nccheck, pes), (*ours, theirs) in cases.items():
        names = [f" ({ours[0]['variant']})" if ours[0] else "", ""]
        cells = [f"{one['seconds']:.4f}{name}" if one else "" for one, name in zip(ours, names, strict=True)]
        cells.append(f"{theirs['seconds']:.4f} ({short_name(theirs['variant'])})" if theirs else "")
        cells.append(", ".join(f"{theirs['seconds'] / one['seconds']:.1f}" for one in ours if theirs and one))
        alone = cases.get((n, nccheck, 1), [None, None])
        pairs = [(one, other) for one, other in zip(ours, alone, strict=False) if one and other]
        shares = [f"{100 * other['seconds'] / pes / one['seconds']:.0f} %" for one, other in pairs if pes > 1]
        lines.append([f"{n} x {n}", pes, plots.every(nccheck), *cells, ", ".join(shares)])
    head = ["grid", "PEs", "norm", "one sweep a pass", "`blocked`", "NVIDIA's best sample", "times faster, of the two"]
    yield f"{machine(facts)}, float32, 1000 sweeps, seconds of the slowest PE ({source(path)}):"
    yield table([*head, "efficiency against one PE, of the two"], lines)


def short_name(variant):
    """The name of a sample of NVIDIA's without its options."""
    name, _, options = variant.removeprefix("NVIDIA ").partition(" -")
    return f"{name}, its options" if "norm_overlap" in options else name


def by_case(rows):
    """{(points, dims): {way: us}} of rows of exchanges."""
    cases = {}
    for row in rows:
        cases.setdefault((row["points"], " x ".join(map(str, row["dims"]))), {})[row["way"]] = row["us"]
    return cases


def halos_on_cpus(paths):
    """Six faces on CPUs beside mpi4py."""
    lines = []
    for facts, rows in map(read, paths):
        for (points, dims), us in by_case(rows).items():
            ours, *theirs = (us[way]["host"] for way in (OURS, *HALO_WAYS))
            cells = [f"{one:.0f}" for one in (*theirs, ours)]
            mpi = facts["mpi"].replace(" Version:", "")
            lines.append([facts["PEs"], mpi, f"{points}^3", dims, *cells, f"{min(theirs) / ours:.2f}"])
    raw = ", ".join(link(path.stem, path) for path in paths)
    where = f"{facts['cores']} cores of {facts['device']}"
    what = f"Six faces of a float64 field, us, slowest PE, median, on {where}"
    yield f"{what} (raw: {raw}; `benchmarks/measure.py halo`):"
    head = ["PEs", "MPI", "points a PE", "PEs by dimension", *HALO_WAYS.values(), "`plan_exchange`", "times faster"]
    yield table(head, lines)


def halos_on_gpus(path):
    """Six faces on GPUs beside NCCL and mpi4py."""
    facts, rows = read(path)
    lines = []
    for (points, dims), us in by_case(rows).items():
        cells = [short(us[way].get(mode)) for way in (OURS, "nccl") for mode in ("eager", "graph")]
        ours, nccl, mpi = (min(us[way].values()) for way in (OURS, "nccl", "mpi"))
        lines.append([f"{points}^3", dims, *cells, short(mpi), f"{nccl / ours:.1f}", f"{mpi / ours:.1f}"])
    modes = [f"{name}, {MODES[mode]}" for name in ("`plan_exchange`", "NCCL") for mode in ("eager", "graph")]
    yield f"Six faces of a float64 field, periodic, us, {machine(facts)} ({source(path)}):"
    head = ["points a PE", "PEs by dimension", *modes, "mpi4py, staged", "times faster than NCCL", "than mpi4py"]
    yield table(head, lines)


def sweeps(path):
    """Sweeps by the library's engines, beside NVIDIA's sample and a copy, and beside one PE."""
    facts, rows = read(path)
    pes, lines = facts["PEs"], []
    of_one = path.with_name(path.name.replace(f"-{pes}x", "-1x"))
    alone = {sweep_of(row): row["us"] for row in read(of_one)[1] if "us" in row} if pes > 1 and of_one.exists() else {}
    for row in rows:
        if "us" not in row:
            continue
        share = alone.get(sweep_of(row), 0) / pes / row["us"]
        points = f"{row['n']}^{row.get('dims', 3 if row['case'] == 'heat' else 2)} {row['dtype']}"
        norm = NORMS.get(row.get("norm"), "")
        engine = f"{row['engine']}, {row['depth']} deep" if "depth" in row else ""
        cells = [row["case"], points, norm, engine, short(row["us"]), short(row.get("GLUP_per_s"))]
        lines.append(cells + [f"{100 * share:.0f} %" if share else ""] * bool(alone))
    yield f"us a sweep ({machine(facts)}, {source(path)}); a copy reads and writes as many bytes:"
    head = ["sweep", "points", "norm", "engine", "us", "points/ns"]
    yield table(head + ["efficiency against one PE"] * bool(alone), lines)


def sweep_of(row):
    """What a row of sweeps measures."""
    return tuple(row.get(name) for name in ("case", "n", "dtype", "norm", "engine"))


def compilers(path):
    """The same kernels by both compilers."""
    facts, rows = read(path)
    names = [*rows[0]["us"]]
    end = f"the least of three jobs by turns ({machine(facts)}, {source(path)})"
    times = [(row, *(min(row["us"][name]) for name in names)) for row in rows]
    if "size_bytes" in rows[0]:
        cells = {}
        for row, ours, other in times:
            cells.setdefault(row["what"], []).append(f"{ours:.2f}, {other / ours:.2f}")
        yield f"us of a plan by {names[0]}, and the time by {names[1]} over it, float32, {end}:"
        sizes = dict.fromkeys(size_text(row["size_bytes"]) for row in rows)
        yield table(["what", *sizes], [[what, *line] for what, line in cells.items()])
        return
    lines = [
        [row["what"], row["n"], row.get("dtype", "float64"), NORMS.get(row.get("norm"), ""), short(ours), short(other),
         f"{other / ours:.2f}"]
        for row, ours, other in times
    ]  # fmt: skip
    yield f"us of a sweep or an iteration, {end}:"
    yield table(["what", "points along a side", "dtype", "norm", *names, " / ".join(names[::-1])], lines)


CASES = {
    "loop": "The same body in a loop of the host and in one of the device, float64, a norm in every second sweep",
    "jacobi": f"The [solver]({TOP}apps/jacobi/README.md) by each variant, float32, a norm in every sweep",
}


def by_size(rows):
    """us, a line for each variant, a column for each size."""
    sizes, lines = sorted({row["n"] for row in rows}), {}
    for row in rows:
        lines.setdefault(row["variant"], {})[row["n"]] = row["us"]
    cells = [[name, *(short(us.get(n)) for n in sizes)] for name, us in lines.items()]
    return table(["variant", *(f"{n}^2" for n in sizes)], cells)


def loops(path):
    """Loops of the host and of the device; the solver's variants."""
    facts, rows = read(path)
    for case, what in CASES.items():
        if found := [row for row in rows if row.get("case") == case and "us" in row]:
            yield f"{what} ({machine(facts)}, {source(path)}), us a sweep:"
            yield by_size(found)


def documents():
    """{path from the root: {mark: paragraphs}} of what the results and the cost model make."""

    def each(parts, *names):
        return [part for path in results(*names) for part in parts(path)]

    cpus = [path for path in results("halo") if "cpu" in path.name]
    gpus = [path for path in results("halo") if "cpu" not in path.name]
    return {
        "docs/algorithms.md": {mark: [text] for mark, text in predictions.parts().items()},
        "docs/measurements.md": {
            "measured": each(collective, *(name for name in COMMANDS if name.startswith(tuple(TITLES)))),
            "comm": each(choices, "comm"),
            "osu": each(osu, "osu"),
            "solver": each(solver, "jacobi"),
        },
        "docs/guides/hosts.md": {"between": each(between_hosts, "between-hosts")},
        "docs/guides/grids.md": {
            "faces": halos_on_cpus(cpus),
            "gpus": [part for path in gpus for part in halos_on_gpus(path)],
        },
        "docs/guides/sweeps.md": {"sweeps": each(sweeps, "sweeps")},
        "docs/compilers.md": {"compilers": each(compilers, "compilers")},
        "docs/guides/loops.md": {"loops": each(loops, "loops")},
    }


def filled(name, marks):
    """A document with other text between its marks."""
    text = (ROOT / name).read_text()
    for mark, parts in marks.items():
        before, after = (text.index(f"<!-- {one}{mark} -->") for one in ("", "/"))
        made = "\n\n".join(parts).replace(f"]({TOP}", f"]({'../' * name.count('/')}")
        text = f"{text[:before]}<!-- {mark} -->\n{made}\n{text[after:]}"
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
