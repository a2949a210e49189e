"""Plots of a result: latency, bandwidth, and the ratio of times."""

import io
from pathlib import Path
from typing import Any

from ..files import write_whole
from .columns import OURS
from .result import Result
from .sizes import show


def missing() -> str:
    """Why plots cannot be made, or "" if they can."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return "matplotlib is not installed: pip install matplotlib, or leave --plot out"
    return ""


KINDS: dict[str, dict[str, Any]] = {"png": {}, "svg": {"Date": None}}  # file format: metadata, the same in every run


def paths(path: Path) -> list[Path]:
    """path.png and path.svg."""
    return [path.with_suffix(f".{kind}") for kind in KINDS]


def draw(result: Result, path: Path) -> list[Path]:
    """Plot the first dtype and op of a result to path.png and path.svg, and return them.  Raises FileError."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (latency, bandwidth, ratio) = pyplot.subplots(1, 3, figsize=(15, 4.6), layout="constrained")
    result = result.groups()[0]
    names = result.implementations()
    series = {name: result.series(name) for name in names}
    for number, name in enumerate(names):
        at = list(series[name])
        rows = list(series[name].values())
        style: dict[str, Any] = {
            "color": f"C{number}",
            "marker": ".",
            "label": name,
            "linewidth": 2 if name == OURS else 1,
        }
        latency.loglog(at, [row.median_us for row in rows], **style)
        bandwidth.semilogx(at, [row.busbw for row in rows], **style)
        common = [size for size in at if size in series.get(OURS, {})]
        if name != OURS and common:
            faster = [series[name][size].median_us / series[OURS][size].median_us for size in common]
            ratio.semilogx(common, faster, **style)
    ratio.axhline(1, color="black", linewidth=0.8)
    latency.set(ylabel="us a call, slowest PE, median")
    bandwidth.set(ylabel="bus bandwidth, GB/s")
    ratio.set(ylabel=f"time / {OURS}'s time")
    ticks = sorted({size for name in names for size in series[name]})
    for axes in (latency, bandwidth, ratio):
        axes.set_xlabel("size")
        axes.set_xticks(ticks[:: max(1, len(ticks) // 6)], [show(t) for t in ticks[:: max(1, len(ticks) // 6)]])
        axes.minorticks_off()
        axes.grid(True, alpha=0.3)
    latency.legend()
    row = result.rows[0]
    where = result.facts.get("device", "")
    figure.suptitle(f"{row.collective}, {row.dtype} {row.op}, {result.facts['PEs']} x {where}, {row.mode}")
    written = save(figure, path)
    pyplot.close(figure)
    return written


def save(figure: Any, path: Path) -> list[Path]:
    """Write path.png and path.svg, each as a whole or not at all.  The same figure makes the same files."""
    import matplotlib

    for target, (kind, metadata) in zip(paths(path), KINDS.items(), strict=True):
        picture = io.BytesIO()
        with matplotlib.rc_context({"svg.hashsalt": "pennympi"}):
            figure.savefig(picture, format=kind, dpi=110, metadata=metadata)
        write_whole(target, picture.getvalue())
    return paths(path)
