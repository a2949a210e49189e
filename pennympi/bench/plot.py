"""A picture of a result: times, and how many times faster than the best baseline."""

import io
from pathlib import Path
from typing import Any

from ..files import write_whole
from .baselines import BASELINES
from .columns import OURS
from .result import Result
from .sizes import show

MOST_TICKS = 6


def missing() -> str:
    """Why pictures cannot be made, or "" if they can."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return "matplotlib is not installed: pip install matplotlib, or leave --plot out"
    return ""


def ratios(result: Result) -> dict[int, float]:
    """{size in bytes: time of the best baseline / time of the library}, of the first dtype and op; {} without both."""
    group = result.groups()[0]
    names = group.implementations()
    ours = group.best_us([OURS] if OURS in names else [name for name in names if name not in BASELINES])
    theirs = group.best_us([name for name in names if name in BASELINES])
    return {size: theirs[size] / us for size, us in sorted(ours.items()) if size in theirs}


def draw(result: Result, path: Path) -> None:
    """Plot the first dtype and op of a result to a file, whose suffix is its format.  Raises FileError."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    faster, result = ratios(result), result.groups()[0]
    figure, (time, ratio) = pyplot.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    for name in result.implementations():
        series = result.series(name)
        width = 2.4 if name == OURS else 1.2
        time.plot(list(series), [row.median_us for row in series.values()], ".-", linewidth=width, label=name)
    time.set(title="us a call: slowest PE, median", yscale="log")
    ratio.plot(list(faster), list(faster.values()), ".-", linewidth=2.4)
    ratio.axhline(1, color="black", linewidth=1)
    ratio.set(title="times faster than the best of the others", ylim=(0, 1.15 * max(1, *faster.values(), 1)))
    sizes = sorted({row.size_bytes for row in result.rows})
    shown = sizes[:: -(-len(sizes) // MOST_TICKS)]
    for axes in (time, ratio):
        axes.set_xscale("log", base=2)
        axes.set_xticks(shown, [show(size) for size in shown])
        axes.minorticks_off()
        axes.grid(True, alpha=0.3)
    figure.legend(*time.get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False)
    row = result.rows[0]
    where = f"{result.facts['PEs']} x {result.facts.get('device', '')}, {row.mode}"
    figure.suptitle(f"{row.collective}, {row.dtype} {row.op}, {where}", x=0.01, ha="left")
    save(figure, path)
    pyplot.close(figure)


def save(figure: Any, path: Path) -> None:
    """Write a picture as a whole or not at all.  The same figure makes the same SVG.  Raises FileError."""
    import matplotlib

    picture, kind = io.BytesIO(), path.suffix[1:] or "svg"
    with matplotlib.rc_context({"svg.hashsalt": "pennympi"}):
        figure.savefig(picture, format=kind, dpi=110, metadata={"Date": None} if kind == "svg" else {})
    write_whole(path, picture.getvalue())
