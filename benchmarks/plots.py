"""The plots of README.md, docs/measurements.md and docs/guides/: how many times faster than the best of the others.

A line or a bar above 1 is faster. Only what was measured beside others in the same run is drawn.
"""

import io

import grids_plots
import hosts_plots
import jacobi_results
from drawing import COLOURS, HEAD_PT, pyplot, quiet
from jacobi_results import best, select
from solver_table import cases, device, every

from pennympi.bench.columns import OURS
from pennympi.bench.result import read
from pennympi.bench.rivals import RIVALS
from pennympi.bench.sizes import show
from pennympi.files import write_whole

PLAIN, BLOCKED = "#7fb0e6", "#1f5fbf"
LINES = {  # file: title, and the label and file of each line
    "allreduce": ("AllReduce, sum, in a CUDA graph: times faster than the better of NCCL's two modes", {
        "float32, 2 GPUs": "allreduce-2xH200", "bfloat16, 2 GPUs": "allreduce-bfloat16-2xH200",
        "float32, 4 GPUs": "allreduce-4xH200"}),
    "others": ("float32, 2 GPUs, in a CUDA graph: times faster than the better of NCCL's two modes", {
        "AllGather": "all_gather-2xH200", "ReduceScatter": "reduce_scatter-2xH200"}),
}  # fmt: skip


def ratios(result):
    """{bytes: the best rival's time / ours} of a result of ``python -m pennympi bench``."""
    group = result.groups()[0]
    rivals = [group.series(name) for name in group.implementations() if name in RIVALS]
    found = {}
    for size, ours in group.series(OURS).items():
        theirs = [series[size].median_us for series in rivals if size in series]
        if theirs:
            found[size] = min(theirs) / ours.median_us
    return found


def lines(title, series):
    """A figure with a line for each of {label: {bytes: ratio}}."""
    figure, axes = pyplot().subplots(figsize=(8, 3.6), layout="constrained")
    for (label, points), colour in zip(series.items(), COLOURS, strict=False):
        axes.semilogx(list(points), list(points.values()), color=colour, linewidth=2.2, label=label, base=2)
    sizes = sorted({size for points in series.values() for size in points})
    ticks = [1 << bits for bits in range(0, 40, 5) if sizes[0] <= 1 << bits <= sizes[-1]]  # 1 KiB, 32 KiB, 1 MiB, ...
    axes.set_xticks(ticks, [show(size) for size in ticks])
    axes.minorticks_off()
    most = max(ratio for points in series.values() for ratio in points.values())
    axes.set_yticks([half / 2 for half in range(int(2 * most) + 1)])
    axes.set_ylim(0, 1.1 * most)
    axes.axhline(1, color="#111111", linewidth=1)
    axes.annotate("as fast", (sizes[0], 1), xytext=(0, -12), textcoords="offset points", fontsize=9)
    axes.set_xlabel("size of the vector")
    axes.legend(frameon=False, fontsize=10, loc="lower left", bbox_to_anchor=(0.12, 0.02))
    figure.suptitle(title, fontsize=HEAD_PT, x=0.01, ha="left")
    quiet(axes, "y")
    return figure


def bars(results):
    """A figure with two bars for each case of a result of benchmarks/jacobi.py that has one of NVIDIA's samples."""
    found = []
    for n, nccheck, pes in cases(results):
        where = {"n": n, "nccheck": nccheck, "pes": pes}
        kinds = [best(select(results["rows"], blocked=one, **where)) for one in (False, True)]
        theirs = best(select(results["nvidia"], **where))
        if theirs and all(kinds):
            label = f"{n} x {n}, {pes} GPU{'s' * (pes > 1)}, norm {every(nccheck)}"
            found.append((f"{label}\nNVIDIA: {theirs['seconds']:.3f} s", theirs["seconds"], kinds))
    figure, axes = pyplot().subplots(figsize=(8, 1.1 + 0.6 * len(found)), layout="constrained")
    for kind, (name, colour) in enumerate((("one sweep a pass", PLAIN), ("blocked: up to 8 sweeps a pass", BLOCKED))):
        times = [(theirs, kinds[kind]["seconds"]) for _, theirs, kinds in found]
        at = [row + 0.38 * kind for row in range(len(found))]
        drawn = axes.barh(at, [theirs / ours for theirs, ours in times], 0.36, color=colour, label=name)
        axes.bar_label(drawn, [f"{theirs / ours:.1f}x ({ours:.3f} s)" for theirs, ours in times], padding=4, fontsize=9)
    axes.axvline(1, color="#111111", linewidth=1)
    axes.set_yticks([row + 0.19 for row in range(len(found))], [label for label, *_ in found])
    axes.tick_params(axis="y", labelsize=9, length=0)
    axes.invert_yaxis()
    most = max(theirs / kinds[1]["seconds"] for _, theirs, kinds in found)
    axes.set_xticks(range(0, int(most) + 1, 2))
    axes.set_xlim(0, 1.3 * most)
    axes.legend(frameon=False, fontsize=10, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    title = f"{results['iterations']} Jacobi sweeps, float32: times faster than NVIDIA's best sample"
    figure.suptitle(f"{device(results)}. {title}", fontsize=HEAD_PT, x=0.01, ha="left")
    quiet(axes, "x")
    return figure


def figures(folder):
    """{name: figure} of the results in a folder."""
    made = {}
    for name, (title, files) in LINES.items():
        results = {label: read(folder / f"{file}.json") for label, file in files.items()}
        device = next(iter(results.values())).facts["device"]
        made[name] = lines(f"{device}. {title}", {label: ratios(result) for label, result in results.items()})
    made["solver"] = bars(jacobi_results.read(folder / "jacobi-2xH200.json"))
    for path in sorted(folder.glob("grids-*.json")):
        made |= grids_plots.figures(path)
    made["hosts"] = hosts_plots.predictions([*folder.glob("hosts-*.json"), *folder.glob("predicted-*.json")])
    return made


def write(folder, to):
    """Write each figure of ``figures`` to a folder, as SVG; the same results make the same files."""
    import matplotlib

    for name, figure in figures(folder).items():
        picture = io.BytesIO()
        with matplotlib.rc_context({"svg.hashsalt": "pennympi"}):
            figure.savefig(picture, format="svg", metadata={"Date": None})
        write_whole(to / f"{name}.svg", picture.getvalue())
