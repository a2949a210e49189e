"""The plots of README.md and docs/measurements.md: speedups over the best of the other libraries.

A line or a bar above 1 means faster.  The plots show only libraries that were measured in the same run.
"""

import statistics

from rows import newest, read

from pennympi.bench import result
from pennympi.bench.baselines import BASELINES
from pennympi.bench.columns import THIS_LIBRARY
from pennympi.units import size_text

HEAD_PT = 10.5
COLOURS = ("#1f5fbf", "#d97706", "#6b7280", "#059669")  # colours of lines and bars
LINES = {  # {file: (title, {label of a line: (command, number of GPUs)})}
    "allreduce": ("AllReduce, sum, in a CUDA graph: times faster than the best of NCCL and PyTorch", {
        "float32, 2 GPUs": ("allreduce", 2), "bfloat16, 2 GPUs": ("allreduce-bfloat16", 2),
        "float32, 4 GPUs": ("allreduce", 4), "bfloat16, 4 GPUs": ("allreduce-bfloat16", 4)}),
    "others": ("float32, in a CUDA graph: times faster than the better of NCCL's two modes", {
        "AllGather, 2 GPUs": ("all_gather", 2), "ReduceScatter, 2 GPUs": ("reduce_scatter", 2),
        "AllGather, 4 GPUs": ("all_gather", 4), "ReduceScatter, 4 GPUs": ("reduce_scatter", 4)}),
}  # fmt: skip


def ratios(measured):
    """{size in bytes: time of the best baseline / time of the library}."""
    ours, theirs = {}, {}
    for row in measured.rows:
        if row.implementation in BASELINES:
            theirs[row.size_bytes] = min(row.median_us, theirs.get(row.size_bytes, row.median_us))
        elif row.implementation == THIS_LIBRARY:
            ours[row.size_bytes] = row.median_us
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
    """A figure with a line for each series.  series: {label: {bytes: ratio}}"""
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
    axes.legend(frameon=False, fontsize=10, loc="lower left", bbox_to_anchor=(0.12, 0.02), ncols=2)
    return finish(figure, axes, "y", title)


def sweeps():
    """Bars for each grid that NVIDIA's sample swept with its norm on one GPU, in the newest result that has it."""
    facts, rows = read(newest("sweeps", holds="NVIDIA single_gpu")[1])
    theirs = {row["n"]: row["us"] for row in rows if row["case"].startswith("NVIDIA")}
    ours = {engine: {} for engine in ("resident", "blocked")}
    for row in rows:
        if row["case"] == "laplace" and row.get("norm") == "every" and row["n"] in theirs and "us" in row:
            ours[row["engine"]][row["n"]] = row["us"]
    figure, axes = begin(2.6)
    for k, (engine, us) in enumerate(ours.items()):
        heights = [sorted(theirs).index(n) + 0.4 * k for n in us]
        drawn = axes.barh(heights, [theirs[n] / us[n] for n in us], 0.36, color=COLOURS[k], label=f'engine="{engine}"')
        axes.bar_label(drawn, [f"{theirs[n] / us[n]:.1f}x ({us[n]:.1f} us)" for n in us], padding=4, fontsize=9)
    labels = [f"{n} x {n}\nNVIDIA: {theirs[n]:.1f} us" for n in sorted(theirs)]
    axes.set_yticks([row + 0.2 for row in range(len(labels))], labels)
    axes.tick_params(axis="y", labelsize=9, length=0)
    axes.invert_yaxis()
    axes.legend(frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    axes.axvline(1, color="#111111", linewidth=1)
    axes.margins(x=0.2)
    title = f"1 x {facts['device']}. A Jacobi sweep and its norm, float32: times faster than NVIDIA's single_gpu"
    return finish(figure, axes, "x", title)


def hidden():
    """A line for each kind of sweep on two GPUs: the time of a PE alone, of as many points, by that with a neighbour."""
    facts, rows = read(newest("sweeps", holds="hidden")[2])
    series = {}
    for row in rows:
        if "hidden" in row and "scaling" not in row and row["engine"] != "resident":
            dims = 3 if row["case"] == "heat" else 2
            points = series.setdefault(f"{dims} dimensions, {row['engine']}", {})
            points.setdefault(row["n"] ** dims, []).append(100 * row["hidden"])
    figure, axes = begin(3.2)
    for colour, (label, points) in zip(COLOURS, series.items(), strict=False):
        sizes = sorted(points)
        axes.semilogx(sizes, [statistics.mean(points[n]) for n in sizes], "o-", color=colour, linewidth=2.2, label=label)
    axes.set_ylim(0, 105)
    axes.set_xlabel("points of the grid")
    axes.set_ylabel("%")
    axes.legend(frameon=False, fontsize=9, loc="lower right", ncols=2)
    title = f"2 x {facts['device']}. Communication hidden by sweeps, by size (mean of dtypes and norms)"
    return finish(figure, axes, "y", title)


def figures():
    figures_by_name = {"sweeps": sweeps(), "hidden": hidden()}
    for name, (title, files) in LINES.items():
        measured = {label: result.read(newest(command)[pes]) for label, (command, pes) in files.items()}
        device = next(iter(measured.values())).facts["device"]
        series = {label: ratios(of_label) for label, of_label in measured.items()}
        figures_by_name[name] = lines(f"{device}. {title}", series)
    return figures_by_name


def write(folder):
    """Write each figure to a folder, as SVG; the same results give the same files."""
    from matplotlib import rc_context

    for name, figure in figures().items():
        with rc_context({"svg.hashsalt": "pennympi"}):
            figure.savefig(folder / f"{name}.svg", dpi=110, metadata={"Date": None})
