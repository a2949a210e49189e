"""The plots of README.md, docs/measurements.md and docs/guides/: how many times faster than the best of the others.

A line or a bar above 1 is faster.  Only what was measured beside others in the same run is drawn.
"""

from rows import RESULTS, best, read

from pennympi.bench import result
from pennympi.bench.baselines import BASELINES
from pennympi.bench.columns import OURS
from pennympi.units import size_text

HEAD_PT = 10.5
COLOURS = ("#1f5fbf", "#d97706", "#6b7280", "#a3b18a")  # of lines and bars; apart in grey too
LINES = {  # file: title, and the label and result of each line
    "allreduce": ("AllReduce, sum, in a CUDA graph: times faster than the better of NCCL's two modes", {
        "float32, 2 GPUs": "allreduce-2xH200", "bfloat16, 2 GPUs": "allreduce-bfloat16-2xH200",
        "float32, 4 GPUs": "allreduce-4xH200"}),
    "others": ("float32, 2 GPUs, in a CUDA graph: times faster than the better of NCCL's two modes", {
        "AllGather": "all_gather-2xH200", "ReduceScatter": "reduce_scatter-2xH200"}),
}  # fmt: skip
KINDS = {  # of conjugate gradients: the variants that a bar is the fastest of
    "ours": ("on_chip", "loop", "persistent", "graph", "stream"), "over NCCL": ("nccl", "nccl-graph"),
    "over MPI": ("mpi",), "public solver": ("CuPy, one GPU", "NVIDIA, double"),
}  # fmt: skip


def ratios(found):
    """{size in bytes: time of the best baseline / time of the library}, of the first dtype and op; {} without both."""
    ours, theirs = {}, {}
    for row in found.groups()[0].rows:
        least = theirs if row.implementation in BASELINES else ours
        if least is theirs or row.implementation == OURS or OURS not in found.implementations():
            least[row.size_bytes] = min(row.median_us, least.get(row.size_bytes, row.median_us))
    return {size: theirs[size] / us for size, us in sorted(ours.items()) if size in theirs}


def pyplot():
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as module

    return module


def finish(figure, axes, along, title):
    """Add the title, and remove lines and ticks without meaning."""
    for side in ("top", "right", "left" if along == "y" else "bottom"):
        axes.spines[side].set_visible(False)
    axes.grid(True, axis=along, alpha=0.3)
    axes.tick_params(axis=along, length=0)
    axes.set_axisbelow(True)
    axes.minorticks_off()
    figure.suptitle(title, fontsize=HEAD_PT, x=0.01, ha="left")
    return figure


def lines(title, series):
    """A figure with a line for each of {label: {bytes: ratio}}."""
    figure, axes = pyplot().subplots(figsize=(8, 3.6), layout="constrained")
    for (label, points), colour in zip(series.items(), COLOURS, strict=False):
        axes.semilogx(list(points), list(points.values()), color=colour, linewidth=2.2, label=label, base=2)
    sizes = sorted({size for points in series.values() for size in points})
    ticks = [1 << bits for bits in range(0, 40, 5) if sizes[0] <= 1 << bits <= sizes[-1]]  # 1 KiB, 32 KiB, 1 MiB, ...
    axes.set_xticks(ticks, [size_text(size) for size in ticks])
    most = max(ratio for points in series.values() for ratio in points.values())
    axes.set_yticks([half / 2 for half in range(int(2 * most) + 1)])
    axes.set_ylim(0, 1.1 * most)
    axes.axhline(1, color="#111111", linewidth=1)
    axes.annotate("as fast", (sizes[0], 1), xytext=(0, -12), textcoords="offset points", fontsize=9)
    axes.set_xlabel("size of the vector")
    axes.legend(frameon=False, fontsize=10, loc="lower left", bbox_to_anchor=(0.12, 0.02))
    return finish(figure, axes, "y", title)


def bars(title, cases, text):
    """A figure with bars for {case: {name: (length, what else is printed)}}.  text: what is printed of a length"""
    names = list(dict.fromkeys(name for one in cases.values() for name in one))
    figure, axes = pyplot().subplots(figsize=(8, 1.1 + 0.26 * len(names) * len(cases)), layout="constrained")
    width = 0.8 / len(names)
    for k, name in enumerate(names):
        found = [(row + width * k, *one[name]) for row, one in enumerate(cases.values()) if name in one]
        at, lengths, more = zip(*found, strict=True)
        drawn = axes.barh(at, lengths, 0.9 * width, color=COLOURS[k % len(COLOURS)], label=name)
        labels = [text(length) + one for length, one in zip(lengths, more, strict=True)]
        axes.bar_label(drawn, labels, padding=4, fontsize=9)
    axes.set_yticks([row + 0.4 - width / 2 for row in range(len(cases))], list(cases))
    axes.tick_params(axis="y", labelsize=9, length=0)
    axes.invert_yaxis()
    axes.legend(frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0, 1), ncols=len(names))
    return figure, axes, title


def microseconds(title, cases):
    """Bars of {case: {name: us}}, on a logarithmic axis."""
    every = {case: {name: (us, "") for name, us in one.items()} for case, one in cases.items()}
    figure, axes, title = bars(title, every, lambda us: f"{us:.1f} us" if us < 100 else f"{us:.0f} us")
    axes.set_xscale("log")
    shown = [us for one in cases.values() for us in one.values()]
    axes.set_xlim(0.7 * min(shown), 2 * max(shown))
    ticks = [10**k for k in range(7) if 0.7 * min(shown) <= 10**k <= 2 * max(shown)]
    axes.set_xticks(ticks, [f"{us} us" for us in ticks])
    return finish(figure, axes, "x", title)


def every(nccheck):
    """How often a norm is computed, in words."""
    return "every sweep" if nccheck == 1 else "once" if nccheck == 1000 else f"every {nccheck}"


def solver_best(rows, **case):
    """The fastest rows of a case: of one sweep a pass, blocked, and of NVIDIA's samples; None where there is none."""
    kinds = [[row for row in rows if row["variant"].startswith("NVIDIA") == theirs] for theirs in (False, True)]
    ours = [[row for row in kinds[0] if (row["variant"] == "blocked") == blocked] for blocked in (False, True)]
    return [best(one, "seconds", **case) for one in (*ours, kinds[1])]


def solver(path):
    """Two bars for each case of a result of the solver that has one of NVIDIA's samples."""
    facts, rows = read(path)
    cases = {}
    for n, nccheck, pes in sorted({(-row["n"], row["nccheck"], row["pes"]) for row in rows}):
        plain, blocked, theirs = solver_best(rows, n=-n, nccheck=nccheck, pes=pes)
        if theirs:
            label = f"{-n} x {-n}, {pes} GPU{'s' * (pes > 1)}, norm {every(nccheck)}\nNVIDIA: {theirs['seconds']:.3f} s"
            names = {"one sweep a pass": plain, "blocked: up to 8 sweeps a pass": blocked}
            cases[label] = {
                name: (theirs["seconds"] / row["seconds"], f" ({row['seconds']:.3f} s)") for name, row in names.items()
            }
    title = f"{facts['device']}. 1000 Jacobi sweeps, float32: times faster than NVIDIA's best sample"
    figure, axes, title = bars(title, cases, "{:.1f}x".format)
    axes.axvline(1, color="#111111", linewidth=1)
    axes.set_xlim(0, 1.3 * max(length for one in cases.values() for length, _ in one.values()))
    return finish(figure, axes, "x", title)


def halos(path):
    """Six faces on two PEs, the fastest form of each way."""
    facts, rows = read(path)
    names, cases = {"pennympi": "this library", "nccl": "NCCL, packed", "mpi": "mpi4py, staged"}, {}
    for row in rows:
        case = f"{row['points']}^3 a PE, cut along {'xyz'[[p > 1 for p in row['dims']].index(True)]}"
        cases.setdefault(case, {})[names[row["way"]]] = min(row["us"].values())
    return microseconds(f"{facts['PEs']} x {facts['device']}. Six faces of a float64 field, us an exchange", cases)


def iterations(path):
    """An iteration of conjugate gradients: the fastest of each kind."""
    facts, rows = read(path)
    cases = {}
    for n in dict.fromkeys(row["n"] for row in rows):
        for kind, variants in KINDS.items():
            us = [row["us"] for row in rows if row["n"] == n and row["variant"] in variants and "us" in row]
            cases.setdefault(f"{n}^3", {}).update({kind: min(us)} if us else {})
    title = f"{facts['PEs']} x {facts['device']}. An iteration of conjugate gradients, 7 points, float64, us"
    return microseconds(title, cases)


def figures():
    """{name: figure}."""
    made = {}
    for name, (title, files) in LINES.items():
        found = {label: result.read(RESULTS / f"{file}.json") for label, file in files.items()}
        device = next(iter(found.values())).facts["device"]
        made[name] = lines(f"{device}. {title}", {label: ratios(one) for label, one in found.items()})
    made["solver"] = solver(RESULTS / "jacobi-2xH200.json")
    made["halos"] = halos(RESULTS / "halo-2xH200.json")
    made["cg"] = iterations(RESULTS / "cg-2xH200.json")
    return made


def write(folder):
    """Write each figure to a folder, as SVG; the same results make the same files."""
    pyplot().rcParams["svg.hashsalt"] = "pennympi"
    for name, figure in figures().items():
        figure.savefig(folder / f"{name}.svg", dpi=110, metadata={"Date": None})
