"""The plots of README.md and docs/measurements.md: how many times faster than the best of the others.

A line or a bar above 1 is faster.  Only what was measured beside others in the same run is drawn.
"""

from rows import RESULTS, best, read

from pennympi.bench import result
from pennympi.bench.baselines import BASELINES
from pennympi.bench.columns import OURS
from pennympi.units import size_text

HEAD_PT = 10.5
COLOURS = ("#1f5fbf", "#d97706", "#6b7280")  # of lines and bars; apart in grey too
LINES = {  # file: title, and the label and result of each line
    "allreduce": ("AllReduce, sum, in a CUDA graph: times faster than the better of NCCL's two modes", {
        "float32, 2 GPUs": "allreduce-2xH200", "bfloat16, 2 GPUs": "allreduce-bfloat16-2xH200",
        "float32, 4 GPUs": "allreduce-4xH200"}),
    "others": ("float32, 2 GPUs, in a CUDA graph: times faster than the better of NCCL's two modes", {
        "AllGather": "all_gather-2xH200", "ReduceScatter": "reduce_scatter-2xH200"}),
}  # fmt: skip


def ratios(found):
    """{size in bytes: time of the best baseline / time of the library}, of the first dtype and op; {} without both."""
    ours, theirs = {}, {}
    for row in found.groups()[0].rows:
        least = theirs if row.implementation in BASELINES else ours
        if least is theirs or row.implementation == OURS or OURS not in found.implementations():
            least[row.size_bytes] = min(row.median_us, least.get(row.size_bytes, row.median_us))
    return {size: theirs[size] / us for size, us in sorted(ours.items()) if size in theirs}


def begin(height):
    """(figure, axes), 8 inches wide."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, height), layout="constrained")
    return figure, figure.subplots()


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
    figure, axes = begin(3.6)
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


def every(nccheck):
    """How often a norm is computed, in words."""
    return "every sweep" if nccheck == 1 else "once" if nccheck == 1000 else f"every {nccheck}"


def solver_cases(rows):
    """((n, nccheck, pes), the fastest rows: of one sweep a pass, blocked, and NVIDIA's; None where there is none)."""
    kinds = [[], [], []]
    for row in rows:
        kinds[2 if row["variant"].startswith("NVIDIA") else row["variant"] == "blocked"].append(row)
    for n, nccheck, pes in sorted({(-row["n"], row["nccheck"], row["pes"]) for row in rows}):
        case = {"n": -n, "nccheck": nccheck, "pes": pes}
        yield tuple(case.values()), [best(one, "seconds", **case) for one in kinds]


def solver(path):
    """Two bars for each case of a result of the solver that has one of NVIDIA's samples."""
    facts, rows = read(path)
    cases = [one for one in solver_cases(rows) if one[1][2]]
    names = "one sweep a pass", "blocked: up to 8 sweeps a pass"
    figure, axes = begin(1.1 + 0.26 * len(names) * len(cases))
    width, most = 0.8 / len(names), 0
    for k, name in enumerate(names):
        seconds = [(theirs["seconds"], ours[k]["seconds"]) for _, (*ours, theirs) in cases]
        lengths = [theirs / us for theirs, us in seconds]
        at = [row + width * k for row in range(len(cases))]
        drawn = axes.barh(at, lengths, 0.9 * width, color=COLOURS[k], label=name)
        labels = [f"{length:.1f}x ({us:.3f} s)" for length, (_, us) in zip(lengths, seconds, strict=True)]
        axes.bar_label(drawn, labels, padding=4, fontsize=9)
        most = max(most, *lengths)
    labels = [
        f"{n} x {n}, {pes} GPU{'s' * (pes > 1)}, norm {every(nccheck)}\nNVIDIA: {found[2]['seconds']:.3f} s"
        for (n, nccheck, pes), found in cases
    ]
    axes.set_yticks([row + 0.4 - width / 2 for row in range(len(cases))], labels)
    axes.tick_params(axis="y", labelsize=9, length=0)
    axes.invert_yaxis()
    axes.legend(frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0, 1), ncols=len(names))
    axes.axvline(1, color="#111111", linewidth=1)
    axes.set_xlim(0, 1.3 * most)
    title = f"{facts['device']}. 1000 Jacobi sweeps, float32: times faster than NVIDIA's best sample"
    return finish(figure, axes, "x", title)


def figures():
    """{name: figure}."""
    made = {"solver": solver(RESULTS / "jacobi-2xH200.json")}
    for name, (title, files) in LINES.items():
        found = {label: result.read(RESULTS / f"{file}.json") for label, file in files.items()}
        device = next(iter(found.values())).facts["device"]
        made[name] = lines(f"{device}. {title}", {label: ratios(one) for label, one in found.items()})
    return made


def write(folder):
    """Write each figure to a folder, as SVG; the same results make the same files."""
    from matplotlib import rc_context

    for name, figure in figures().items():
        with rc_context({"svg.hashsalt": "pennympi"}):
            figure.savefig(folder / f"{name}.svg", dpi=110, metadata={"Date": None})
