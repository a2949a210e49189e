"""A picture of a result: times, and how many times faster than the best baseline."""

import io
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..files import write_whole
from ..units import size_text
from .baselines import BASELINES
from .columns import OURS
from .result import Result

MOST_TICKS = 6
MISSING = "" if find_spec("matplotlib") else "matplotlib is not installed: pip install matplotlib, or leave --plot out"


def ratios(result: Result) -> dict[int, float]:
    """{size in bytes: time of the best baseline / time of the library}, of the first dtype and op; {} without both."""
    ours, theirs = dict[int, float](), dict[int, float]()
    for row in result.groups()[0].rows:
        least = theirs if row.implementation in BASELINES else ours
        if least is theirs or row.implementation == OURS or OURS not in result.implementations():
            least[row.size_bytes] = min(row.median_us, least.get(row.size_bytes, row.median_us))
    return {size: theirs[size] / us for size, us in sorted(ours.items()) if size in theirs}


def draw(result: Result, path: Path) -> None:
    """Plot the first dtype and op of a result to a file, whose suffix is its format.  Raises FileError."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    faster, result = ratios(result), result.groups()[0]
    figure, (time, ratio) = pyplot.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    for name in result.implementations():
        series, width = result.series(name), 2.4 if name == OURS else 1.2
        time.plot(list(series), [row.median_us for row in series.values()], ".-", linewidth=width, label=name)
    time.set(title="us a call: slowest PE, median", yscale="log")
    ratio.plot(list(faster), list(faster.values()), ".-", linewidth=2.4)
    ratio.set(title="times faster than the best of the others", ylim=(0, 1.15 * max(1, *faster.values(), 1)))
    sizes = sorted({row.size_bytes for row in result.rows})
    shown = sizes[:: -(-len(sizes) // MOST_TICKS)]
    for axes in (time, ratio):
        axes.set_xscale("log", base=2)
        axes.set_xticks(shown, [size_text(size) for size in shown])
        axes.minorticks_off()
        axes.grid(True, alpha=0.3)
    figure.legend(*time.get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False)
    row, facts = result.rows[0], result.facts
    figure.suptitle(f"{row.collective}, {row.dtype} {row.op}, {facts['PEs']} x {facts.get('device', '')}, {row.mode}")
    save(figure, path)
    pyplot.close(figure)


def save(figure: Any, path: Path) -> None:
    """Write a picture as a whole or not at all.  The same figure makes the same SVG.  Raises FileError."""
    import matplotlib

    picture, kind = io.BytesIO(), path.suffix[1:] or "svg"
    with matplotlib.rc_context({"svg.hashsalt": "pennympi"}):
        figure.savefig(picture, format=kind, dpi=110, metadata={"Date": None} if kind == "svg" else {})
    write_whole(path, picture.getvalue())
