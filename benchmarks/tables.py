"""Write the tables of docs/, and the plots of docs/plots, from the newest results in benchmarks/results.

python benchmarks/tables.py            rewrite the documents between their marks
python benchmarks/tables.py --plots    also draw the plots
python benchmarks/tables.py --check    write nothing; status 1 if a document differs from the results

benchmarks/measure.py measures the results; the caption of a table names the command.
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import plots  # noqa: E402
from rows import RESULTS, newest, read  # noqa: E402

from pennympi.arrays.dtypes import TABLE as DTYPES  # noqa: E402
from pennympi.bench import result  # noqa: E402
from pennympi.bench.baselines import BASELINES  # noqa: E402
from pennympi.bench.columns import THIS_LIBRARY  # noqa: E402
from pennympi.kernels.algorithm import Limits, Topology  # noqa: E402
from pennympi.selection.choose import Selection  # noqa: E402
from pennympi.selection.machine import NVLINK  # noqa: E402
from pennympi.units import bytes_of, size_text  # noqa: E402

TITLES = {
    "allreduce": "AllReduce", "allreduce-bfloat16": "AllReduce", "all_gather": "AllGather",
    "reduce_scatter": "ReduceScatter", "all_gatherv": "AllGather by counts",
    "reduce_scatterv": "ReduceScatter by counts", "all_to_allv": "All-to-all by counts",
}  # fmt: skip
MODES = {"graph": "in a CUDA graph", "eager": "one by one", "host": ""}
NORMS = {"every": "every", "True": "last"}  # {norm in a row of sweeps: text}
WAYS = {
    THIS_LIBRARY: "`plan_exchange`", "nccl": "NCCL", "packed": "Sendrecv, packed", "subarrays": "Sendrecv, subarrays",
    "persistent": "persistent requests",
}  # fmt: skip
MOST_LINES = 12  # most lines of a table of collectives; of more sizes some are left out
TOP = "TOP/"  # stands in links for the path from the document to the root (``filled``)


def table(head, lines):
    """A table in Markdown.  head: texts;  lines: lists of cells"""
    first, *rest = ["| " + " | ".join(map(str, cells)) + " |" for cells in (head, *lines)]
    return "\n".join([first, "|" + "---|" * len(head), *rest])


def source(*paths):
    """The end of a caption: the raw results, and the command that measures them."""
    raw = [f"[raw]({TOP}benchmarks/results/{path.name})" for path in paths]
    return f"{', '.join(raw)}; `benchmarks/measure.py {re.split(r'-[0-9]+x', paths[0].name)[0]}`"


def machine(*facts):
    """The device and the number of PEs as text, with the libraries and the last date."""
    numbers = ", ".join(str(machine_facts["PEs"]) for machine_facts in facts)
    names = [f"{key} {facts[-1][key]}" for key in ("NCCL", "NVSHMEM", "CUDA driver") if key in facts[-1]]
    names += dict.fromkeys(facts[-1][key] for key in BASELINES if key in facts[-1])
    dates = [machine_facts.get("date") for machine_facts in facts]
    newest_date = [max(dates)] if all(dates) else []
    return ", ".join([f"{numbers} x {facts[-1]['device']}", *names, *newest_date])


def short(us):
    """A time as text for tables of solvers."""
    return "" if us is None else f"{us:.1f}" if us < 100 else f"{us:.0f}"


def gpus(pes):
    return f"{pes} GPU{'s' * (pes > 1)}"


# Collectives ---------------------------------------------------------------------------
def collective(name):
    """Yield a caption and a table: the library and its fastest baseline by size, for each number of GPUs."""
    paths = newest(name)
    results = {pes: result.read(path).groups()[0] for pes, path in paths.items()}
    row, head, lines = next(iter(results.values())).rows[0], ["size"], {}
    for pes in results:
        head += [f"{gpus(pes)}, us", "fastest of the others", "times faster"]
    sizes = sorted({row.size_bytes for measured in results.values() for row in measured.rows})
    for size in sizes[:: -(-len(sizes) // MOST_LINES)]:
        cells = lines[size] = [size_text(size)]
        for measured in results.values():
            us = {name: measured.series(name)[size].median_us for name in measured.implementations()}
            best = min((name for name in us if name in BASELINES), key=us.get)
            cells += [f"{us[THIS_LIBRARY]:.2f}", f"{us[best]:.2f} {best}", f"{us[best] / us[THIS_LIBRARY]:.2f}"]
    what = ", ".join(filter(None, [TITLES[name], row.dtype, row.op]))
    facts = (measured.facts for measured in results.values())
    yield f"{what}, plans in a CUDA graph ({machine(*facts)}; {source(*paths.values())}):"
    yield table(head, lines.values())


def between_hosts(path):
    """Yield AllReduce between hosts on CPUs: MPI, the library's choice, and the fastest algorithm."""
    measured, lines = result.read(path), []
    names = measured.implementations()
    us = {name: {size: row.median_us for size, row in measured.series(name).items()} for name in names}
    theirs, ours = us.pop("mpi"), us.pop(THIS_LIBRARY)
    for size in ours:
        fastest = min(us, key=lambda name: us[name][size])
        cells = [f"{theirs[size]:.0f}", f"{ours[size]:.0f}", f"{theirs[size] / ours[size]:.2f}"]
        lines.append([size_text(size), *cells, f"{fastest} {us[fastest][size]:.0f}"])
    yield f"Plans, median, slowest PE, {measured.facts['nodes']}, {measured.facts['mpi']} ({source(path)}):"
    yield table(["AllReduce", "MPI, us", "as chosen, us", "times faster", "fastest algorithm, us"], lines)


def predictions():
    """Yield the cost model's predictions for nodes of GPUs on NVLink, with a rail for each GPU."""
    topologies = {n: Topology(tuple(pe // 8 for pe in range(n)), ll128_safe=False) for n in (16, 64, 256, 1024)}
    limits, lines = Limits(max_blocks=132, buffer_bytes=256 << 10), []  # of an H200
    for nbytes in map(bytes_of, "1K 16K 256K 1M 4M 16M 64M 256M 1G".split()):
        lines.append([size_text(nbytes)])
        for topology in topologies.values():
            explained = Selection(topology, limits, NVLINK, None, "GPUs").explain(nbytes, DTYPES["float32"], "sum")
            lines[-1].append(f"{explained.modelled[explained.algorithm]:.4g} {explained.algorithm}")
    rails = f"8 rails of {NVLINK.nic_gb_s:g} GB/s and {NVLINK.net_step_us:g} us between"
    yield f"Predicted AllReduce, float32 sum, us a call: nodes of 8 GPUs, {NVLINK.name} inside, {rails}."
    yield table(["size", *map(gpus, topologies)], lines)


# Grids ---------------------------------------------------------------------------------
def halos(path):
    """Yield six faces by each way and mode, and the speedup over the fastest of the other ways."""
    facts, rows = read(path)
    cases, columns, lines = {}, [], []
    for row in rows:
        if row["way"] in WAYS:
            us = cases.setdefault((f"{row['points']}^3", " x ".join(map(str, row["dims"]))), {})
            us |= {(row["way"], mode): time for mode, time in row["us"].items()}
            columns = list(us)
    for case, us in cases.items():
        ours, theirs = (min(us[column] for column in us if (column[0] == THIS_LIBRARY) == own) for own in (True, False))
        lines.append([*case, *(short(us[column]) for column in columns), f"{theirs / ours:.2f}"])
    names = [", ".join(filter(None, [WAYS[way], MODES[mode]])) for way, mode in columns]
    yield f"Six faces of a float64 field, periodic, us, slowest PE, median ({machine(facts)}; {source(path)}):"
    yield table(["points a PE", "PEs by dimension", *names, "times faster"], lines)


def case_of(row):
    """The case of a row of sweeps: sweep, points, norm, engine."""
    dims = row.get("dims", 3 if row["case"] == "heat" else 2)
    return row["case"], f"{row['n']}^{dims} {row['dtype']}", NORMS.get(row.get("norm"), ""), row.get("engine") or ""


def is_of_table(row):
    """Whether a row of sweeps has a time for a grid of fixed size."""
    return "us" in row and "scaling" not in row


def sweeps():
    """Yield, for each kind of GPU, sweeps by the library's engines, and their efficiency against one GPU."""
    for device in ("H200", "H100"):
        yield from sweeps_on(newest("sweeps", holds=f"NVIDIA {device}"))


def sweeps_on(paths):
    """Yield the table of sweeps.  paths: {number of GPUs: result}"""
    rows_of = {pes: {case_of(row): row for row in read(path)[1] if is_of_table(row)} for pes, path in paths.items()}
    head, lines = ["sweep", "points", "norm", "engine", "depth"], []
    for pes in rows_of:
        head += [f"{gpus(pes)}, us", "efficiency" if pes > 1 else "points/ns"]
    for case in dict.fromkeys(case for rows in rows_of.values() for case in rows):
        depths = dict.fromkeys(rows[case]["depth"] for rows in rows_of.values() if "depth" in rows.get(case, {}))
        cells, alone = [*case, ", ".join(map(str, depths))], rows_of[1].get(case, {}).get("us")
        for pes, rows in rows_of.items():
            row = rows.get(case, {})
            share = f"{100 * alone / pes / row['us']:.0f} %" if alone and row else ""
            hidden = f"hidden {100 * row['hidden']:.0f} %" if "hidden" in row else ""
            shares = ", ".join(filter(None, (share, hidden)))
            cells += [short(row.get("us")), shares if pes > 1 else short(row.get("GLUP_per_s"))]
        lines.append(cells)
    facts = [read(path)[0] for path in paths.values()]
    yield f"us a sweep ({machine(*facts)}; {source(*paths.values())}); a copy reads and writes as many bytes:"
    yield table(head, lines)


def loops():
    """Yield loops of the host and of the device, and the solver's variants, on each number of GPUs."""
    paths = newest("loops")
    rows_of = {pes: [row for row in read(path)[1] if "us" in row] for pes, path in paths.items()}
    where = f"{machine(*(read(path)[0] for path in paths.values()))}; {source(*paths.values())}"
    for case, what in {
        "loop": "The same body in a loop of the host and in one of the device, float64, a norm in every second sweep",
        "jacobi": f"The [solver]({TOP}apps/jacobi/README.md) by each variant, float32, a norm in every sweep",
    }.items():
        lines, columns = {}, {}
        for pes, rows in rows_of.items():
            for row in (row for row in rows if row.get("case") == case):
                column = f"{row['n']}^2, {gpus(pes)}"
                columns[column] = lines.setdefault(row["variant"], {})[column] = row["us"]
        yield f"{what}, us a sweep ({where}):"
        cells = [[name, *(short(us.get(column)) for column in columns)] for name, us in lines.items()]
        yield table(["", *columns], cells)


def solver():
    """Yield seconds of the solver on each number of GPUs: one sweep a pass, blocked, and NVIDIA's fastest samples."""
    paths, lines, columns = newest("jacobi"), {}, {}
    for path in paths.values():  # an efficiency is against one GPU of the same machine
        seconds = {}
        for row in read(path)[1]:
            kind = "NVIDIA" if row["variant"].startswith("NVIDIA") else "one sweep a pass"
            case = row["n"], row["nccheck"], "blocked" if row["variant"] == "blocked" else kind
            key = case, row["pes"]
            seconds[key] = min(row["seconds"], seconds.get(key, row["seconds"]))
        for (case, pes), best in seconds.items():
            share = f" ({100 * seconds[case, 1] / pes / best:.0f} %)" if pes > 1 and (case, 1) in seconds else ""
            column = gpus(pes) if pes > 1 else f"1 of {read(path)[0]['PEs']} GPUs"
            columns[column] = lines.setdefault(case, {})[column] = f"{best:.4f}{share}"
    where = f"{machine(*(read(path)[0] for path in paths.values()))}; {source(*paths.values())}"
    yield f"float32, 1000 sweeps, seconds of the slowest PE, efficiency against one ({where}):"
    cases = sorted(lines, key=lambda case: (-case[0], *case[1:]))
    cells = [[f"{n} x {n}", nccheck, kind] for n, nccheck, kind in cases]
    for case, line in zip(cases, cells, strict=True):
        line += [lines[case].get(column, "") for column in columns]
    yield table(["grid", "norm every (sweeps)", "variant", *columns], cells)


# The simulator -------------------------------------------------------------------------
def faults():
    """Yield planted faults by kind, and how many are found; statements that are removed; programs without a fault."""
    path, plain = RESULTS / "simulate-1xcpu.json", RESULTS / "simulate-plain-2xcpu.json"  # simulated runs, plain runs
    facts, rows = read(path)
    runs = json.loads(plain.read_text())
    planted = [row for row in rows if "kind" in row]
    kinds = dict.fromkeys(row["kind"] for row in planted)
    lines = []
    for kind in [*kinds, "all"]:
        of_kind = [row for row in planted if kind in (row["kind"], "all")]
        seconds = sorted(row["seconds"] for row in of_kind if row["found"])
        lines.append([kind, len(of_kind), len(seconds), f"{seconds[len(seconds) // 2]:.2f}", f"{seconds[-1]:.2f}"])
    removed = [row for row in rows if "removed" in row]
    right = [row for row in rows if "schedules" in row]
    programs = "a ring exchange, a halo exchange, a one-shot sum, a pipeline of pieces and a loop with a stop"
    where = f"{facts['device']}, {facts['date']}; [raw]({TOP}benchmarks/results/{path.name})"
    yield f"Faults planted in five programs on 4 PEs, {programs} ({where}; `python -m simulator.planted` in `tests/`):"
    yield table(["kind", "planted", "found", "median, seconds", "slowest, seconds"], lines)
    missed, schedules = sum(not row["found"] for row in removed), sum(row["schedules"] for row in right)
    shown = sum(bool(row["shown"]) for row in runs["rows"])
    yield " ".join([
        f"At full speed on CPUs {runs['runs']:,} runs of each on 4 PEs show {shown} of them as a wrong result or error",
        f"([raw]({TOP}benchmarks/results/{plain.name})), without the line.",
        f"False alarms: none in {schedules} schedules of the programs as they are.",
        f"Each of the {len(removed)} statements that order or send something was also removed, one at a time:",
        f"{len(removed) - missed} are found. Of the {missed} others all but one are not needed, such as a `sync` at",
        "the end of a kernel; the one is a `put` whose signal is still sent.",
    ])  # fmt: skip


# Documents -----------------------------------------------------------------------------
def documents():
    """{path from the root: {mark: paragraphs}} that follow from the results and the cost model."""
    between = RESULTS / "between-hosts-4xcpu-mpich.json"
    faces = [part for mpi in ("mpich", "openmpi") for part in halos(RESULTS / f"halo-2xcpu-{mpi}.json")]
    return {
        "docs/algorithms.md": {"predictions": predictions()},
        "docs/measurements.md": {
            "collectives": [part for name in TITLES for part in collective(name)],
            "solver": solver(),
        },
        "docs/guides/hosts.md": {"between": between_hosts(between)},
        "docs/guides/grids.md": {"faces": faces, "gpus": halos(newest("halo")[2])},
        "docs/guides/sweeps.md": {"sweeps": sweeps()},
        "docs/guides/loops.md": {"loops": loops()},
        "docs/guides/simulate.md": {"faults": faults()},
    }


def filled(name, marks):
    """A document with new text between its marks."""
    text = (ROOT / name).read_text()
    for mark, parts in marks.items():
        before, after = (text.index(f"<!-- {slash}{mark} -->") for slash in ("", "/"))
        new = "\n\n".join(parts).replace(f"]({TOP}", f"]({'../' * name.count('/')}")
        text = f"{text[:before]}<!-- {mark} -->\n{new}\n{text[after:]}"
    return text


def main(argv):
    texts = {name: filled(name, marks) for name, marks in documents().items()}
    if "--check" in argv:
        stale = [name for name, text in texts.items() if (ROOT / name).read_text() != text]
        print("\n".join(f"{name} is not what benchmarks/tables.py writes" for name in stale))
        return 1 if stale else 0
    for name, text in texts.items():
        (ROOT / name).write_text(text)
    if "--plots" in argv:
        plots.write(ROOT / "docs" / "plots")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
