"""The plot of a scaling table."""

from itertools import groupby
from pathlib import Path
from typing import Any

from ...program.figure import save_figure


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Plot speed and efficiency over the number of PEs to a PNG file, one line for each kind and variant."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.6), layout="constrained")

    def named(row: dict[str, Any]) -> str:
        return f"{row['kind']}, {row['variant']}"

    pes = sorted({row["pes"] for row in rows})
    for name, some in groupby(sorted(rows, key=named), key=named):
        line = sorted(some, key=lambda row: row["pes"])
        left.plot([row["pes"] for row in line], [row["glups"] for row in line], marker="o", label=name)
        known = [row for row in line if row["speedup"]]
        right.plot([row["pes"] for row in known], [row["efficiency_percent"] for row in known], marker="o", label=name)
    alone = [row["glups"] for row in rows if row["pes"] == 1]
    if alone:
        left.plot(pes, [max(alone) * n for n in pes], color="tab:gray", linestyle="--", label="ideal")
        right.axhline(100.0, color="tab:gray", linestyle="--")
    left.set(title="speed", xlabel="PEs", ylabel="GLUP/s", xscale="log", yscale="log")
    right.set(title="efficiency against the fastest run on one PE", xlabel="PEs", ylabel="%", xscale="log")
    right.set_ylim(bottom=0)
    for axes in (left, right):
        axes.set_xticks(pes, [str(n) for n in pes])
        axes.minorticks_off()
        axes.grid(True, alpha=0.3)
    left.legend()
    save_figure(figure, path)
