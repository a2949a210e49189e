"""Plots of a result: how many times faster than the best rival, time, and bandwidth."""

import io
import math
from pathlib import Path
from typing import Any

from ..files import write_whole
from .columns import OURS
from .result import Result
from .rivals import RIVALS
from .sizes import show


def missing() -> str:
    """Why plots cannot be made, or "" if they can."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return "matplotlib is not installed: pip install matplotlib, or leave --plot out"
    return ""


KINDS: dict[str, dict[str, Any]] = {"png": {}, "svg": {"Date": None}}  # file format: metadata, the same in every run
BLUE, PALE = "#1f5fbf", "#c4c9d1"
COLOURS = ("#d97706", "#6b7280", "#0f9488", "#a21caf")  # of rivals, or of the fastest algorithms
MOST_TICKS = 6
Times = dict[int, float]  # us of a call, by size in bytes


def paths(path: Path) -> list[Path]:
    """path.png and path.svg."""
    return [path.with_suffix(f".{kind}") for kind in KINDS]


def least(result: Result, names: list[str]) -> Times:
    """The time of the fastest of some implementations at each size that one of them was measured at."""
    found: Times = {}
    for name in names:
        for size, row in result.series(name).items():
            found[size] = min(row.median_us, found.get(size, math.inf))
    return found


def ratio(result: Result) -> tuple[str, Times]:
    """(what it is, its value at each size) of the panel of ratios; nothing if nothing can be compared.

    The best rival's time over the library's; without rivals, the best algorithm's over that of the library's choice.
    """
    names = result.implementations()
    rivals = [name for name in names if name in RIVALS]
    algorithms = [name for name in names if name not in (*rivals, OURS)]
    ours = least(result, [OURS] if OURS in names else algorithms)
    if rivals and ours:
        best, other = least(result, rivals), rivals[0] if len(rivals) == 1 else "the best of the others"
        what = f"times faster than {other}"
    elif algorithms and OURS in names:
        best, what = least(result, algorithms), "the best algorithm's time / that of the one chosen"
    else:
        return "", {}
    return what, {size: best[size] / us for size, us in sorted(ours.items()) if size in best}


def styles(result: Result) -> dict[str, dict[str, Any]]:
    """{implementation: how its line is drawn}: in colour the library, its rivals, and algorithms that are often best."""
    names = result.implementations()
    algorithms = [name for name in names if name not in (*RIVALS, OURS)]
    best = least(result, algorithms)
    wins = {a: sum(row.median_us <= best[size] for size, row in result.series(a).items()) for a in algorithms}
    shown = [name for name in names if name in RIVALS] + sorted(filter(wins.get, wins), key=lambda a: -wins[a])
    found = {name: {"color": PALE, "linewidth": 1, "zorder": 1} for name in names}
    for name, colour in zip(shown, COLOURS, strict=False):
        found[name] = {"color": colour, "linewidth": 1.6, "zorder": 2, "label": name}
    if OURS in names:
        found[OURS] = {"color": BLUE, "linewidth": 2.4, "zorder": 3, "label": OURS}
    pale = [name for name in names if "label" not in found[name]]
    if pale:
        found[pale[0]]["label"] = pale[0] if len(pale) == 1 else f"{len(pale)} other algorithms"
    return found


def ticks(sizes: list[int]) -> list[int]:
    """At most MOST_TICKS of the sizes, so far apart on a logarithmic axis that their names do not touch."""
    apart, kept = math.log(sizes[-1] / sizes[0]) / MOST_TICKS, sizes[:1]
    for size in sizes[1:]:
        if math.log(size / kept[-1]) >= apart:
            kept.append(size)
    return kept


def draw(result: Result, path: Path) -> list[Path]:
    """Plot the first dtype and op of a result to path.png and path.svg, and return them.  Raises FileError."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    result = result.groups()[0]
    what, ratios = ratio(result)
    figure, panels = pyplot.subplots(1, 3 if ratios else 2, figsize=(15 if ratios else 10, 4.6), layout="constrained")
    first, (time, bandwidth) = panels[0], panels[-2:]
    for name, style in styles(result).items():
        at, rows = list(result.series(name)), list(result.series(name).values())
        marker = "." if len(at) < 2 else None  # a line needs two points
        time.loglog(at, [row.median_us for row in rows], marker=marker, **style)
        bandwidth.semilogx(at, [row.busbw for row in rows], marker=marker, **style)
    time.set(title="us a call: slowest PE, median")
    bandwidth.set(title="bus bandwidth, GB/s", ylim=(0, None))
    if ratios:
        marker = "." if len(ratios) < 2 else None
        first.semilogx(list(ratios), list(ratios.values()), marker=marker, color=BLUE, linewidth=2.4)
        first.axhline(1, color="black", linewidth=1)
        first.annotate("as fast", (min(ratios), 1), (0, -12), textcoords="offset points", fontsize=9)
        first.set(title=what, ylim=(0, 1.15 * max(1, *ratios.values())))
    sizes = sorted({row.size_bytes for row in result.rows if row.size_bytes}) or [1]
    for axes in panels:
        axes.set_xticks(ticks(sizes), [show(size) for size in ticks(sizes)])
        axes.minorticks_off()
        axes.grid(True, alpha=0.3)
    figure.legend(*time.get_legend_handles_labels(), loc="outside lower center", ncols=8, frameon=False)
    row = result.rows[0]
    device, kind = result.facts.get("device", ""), " ".join(filter(None, (row.dtype, row.op)))
    figure.suptitle(f"{row.collective}, {kind}, {result.facts['PEs']} x {device}, {row.mode}", x=0.01, ha="left")
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
