"""The tables of docs/guides/grids.md and docs/guides/poisson.md from GPUs: results of benchmarks/grids.py."""

import json

import grids_targets
from grids_results import MODES, best_us, mode_us, rows, short
from markdown import table

from pennympi.bench.sizes import show

WAYS = {"pennympi": "`plan_exchange`", "nccl": "NCCL", "mpi": "mpi4py, staged"}
RIVALS = ("nccl", "mpi")


def where(data, path):
    """The end of a caption: machine, libraries, date of the run on the most PEs, and the raw results."""
    facts = data[max(data)]["facts"]
    named = [f"{key} {facts[key]}" for key in ("NCCL", "NVSHMEM", "CUDA driver") if key in facts]
    raw = f"[raw](../../benchmarks/results/{path.name})"
    return f"{facts['device']}, {', '.join([*named, facts['mpi']])}, {facts['date']}; {raw}"


def by_way(found):
    """{case: {way: row}} of rows of exchanges, in their order."""
    cases = {}
    for row in found:
        cases.setdefault((row["points"], tuple(row["dims"])), {})[row["way"]] = row
    return cases


def exchanges(data, part):
    """A table of exchanges on two PEs."""
    head = ["points a PE", "PEs by dimension"]
    head += [f"{WAYS[way]}, {MODES[mode]}" for way in ("pennympi", "nccl") for mode in MODES]
    head += [WAYS["mpi"], "floor", "times faster than NCCL", "than mpi4py"]
    lines = []
    for (points, dims), ways in by_way(rows(data, 2, part)).items():
        cells = [f"{points}^3", " x ".join(map(str, dims))]
        cells += [mode_us(ways.get(way), mode) for way in ("pennympi", "nccl") for mode in MODES]
        cells += [mode_us(ways.get("mpi"), "eager"), short(grids_targets.exchange_floor(data, points, part == "halo"))]
        ours = best_us(ways["pennympi"])
        lines.append(cells + [f"{best_us(ways[way]) / ours:.1f}" if way in ways else "" for way in RIVALS])
    return table(head, lines)


def heat(data):
    """A table of steps of apps/heat3d, on one PE and on two."""
    lines = []
    for pes in (1, 2):
        for row in rows(data, pes, "heat"):
            floor = row["us"] * row["share_of_copy"] if "share_of_copy" in row else None
            share = f"{100 * row['share_of_copy']:.0f} %" if floor else ""
            cells = [f"{row['n']}^3 {row['dtype']}", pes, row["form"].replace("eager", "one by one"), short(row["us"])]
            lines.append([*cells, f"{row['GB_per_s']:.0f}", short(floor), share])
    return table(["points", "PEs", "form", "us a step", "GB/s", "floor, us", "of a copy"], lines)


def loops(data):
    """The page's two loops."""
    found = {}
    for row in rows(data, 2, "loop"):
        found.setdefault(row["points"], {})[row["loop"]] = row["us"]
    names = list(next(iter(found.values()), {}))
    lines = [[f"{points}^3", *(short(us[name]) for name in names)] for points, us in found.items()]
    return table(["points a PE", *names], lines)


def counts(data):
    """Collectives by counts beside NCCL's grouped calls: us, this library and NCCL."""
    found, names = {}, []
    for row in rows(data, 2, "counts"):
        found.setdefault(row["size_bytes"], {})[row["collective"], row["mode"], row["implementation"]] = row["median_us"]
        names.append(row["collective"])
    columns = [(name, mode) for name in dict.fromkeys(names) for mode in MODES]
    lines = []
    for size, us in found.items():
        cells = []
        for case in columns:
            ours, theirs = (us.get((*case, one)) for one in ("pennympi", "nccl"))
            cells.append(f"{short(ours)}, {short(theirs)}: {theirs / ours:.1f}" if ours and theirs else short(ours))
        lines.append([show(size), *cells])
    return table(["size", *(f"{name}, {MODES[mode]}" for name, mode in columns)], lines)


def grids(path):
    """The paragraphs of docs/guides/grids.md."""
    data = json.loads(path.read_text())
    said, faces, face = where(data, path), rows(data, 2, "halo"), rows(data, 2, "face")
    parts = ["![Six faces on two GPUs: us, beside NCCL and MPI](../plots/halos.svg)"] if faces else []
    less = (
        ""
        if grids_targets.copy_rate(data) or "2" not in data
        else ". No copy to the other GPU was timed there: floors are without the bytes"
    )
    parts += [f"Targets and floors, two PEs unless it says one ({said}){less}:", table(*grids_targets.of_grids(data))]
    if faces:
        parts += ["Six faces of a float64 field, periodic, us, two PEs:", exchanges(data, "halo")]
    if face:
        parts += ["One face alone, the grid not periodic, us, two PEs:", exchanges(data, "face")]
    if rows(data, 2, "loop"):
        parts += ["The two loops of this page in CuPy, us a step, two PEs, cut along z:", loops(data)]
    if rows(data, 1, "heat") or rows(data, 2, "heat"):
        parts += ["`apps/heat3d`, bytes counted as one read and one write of a point:", heat(data)]
    if rows(data, 2, "counts"):
        parts += ["Collectives by counts, float32, uneven parts, us of ours, of NCCL's grouped calls, and the ratio:"]
        parts += [counts(data)]
    return parts


def poisson(path):
    """The paragraphs of docs/guides/poisson.md."""
    data = json.loads(path.read_text())
    found, names = {}, []
    for pes in (1, 2):
        for row in rows(data, pes, "cg") + rows(data, pes, "nvidia_cg"):
            found.setdefault((row["shape"][0], pes), {})[row["variant"]] = row
            names += [row["variant"]] * ("us" in row)
    names, lines = list(dict.fromkeys(names)), []
    for (n, pes), ways in sorted(found.items()):
        floor = short(grids_targets.iteration_floor(data, n, pes))
        lines.append([f"{n}^3", pes, *(short(ways.get(name, {}).get("us")) for name in names), floor])
    titles = [grids_targets.TITLES.get(name, name if " " in name else f"`{name}`") for name in names]
    parts = ["![An iteration on two GPUs: us, beside others](../plots/cg.svg)"] * bool(rows(data, 2, "cg"))
    parts += [f"Targets and floors ({where(data, path)}):", table(*grids_targets.of_poisson(data))]
    return [*parts, "us an iteration, float64 unless it says float:", table(["points", "PEs", *titles, "floor"], lines)]
