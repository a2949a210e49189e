"""The table of a run: nccl-tests' columns, the implementation's name, and the 99th percentile."""

from ..units import size_text
from .baselines import BASELINES
from .result import Result, Row

THIS_LIBRARY = "pennympi"
CLEARLY = 1.15  # factor between two times that counts as a difference; times that are closer count as equal
_FORM = f"{'time':>9s} {'p99':>9s} {'algbw':>7s} {'busbw':>7s} {'#wrong':>6s}"


def head(width: int) -> str:
    """The lines above the table.  width: length of the longest name, in characters"""
    left = f"#{'size (B)':>11s} {'elements':>12s} {'type':>8s} {'redop':>6s}  {'':{width}s}"
    forms = f"{'# us and GB/s':{len(left)}s}  {'out-of-place':^{len(_FORM)}s}  {'in-place':^{len(_FORM)}s}"
    return f"{forms}\n{left}  {_FORM}  {_FORM}"


def line(out_of_place: Row | None, in_place: Row | None, width: int) -> str:
    """The line for an implementation and a size, of which at least one form was measured."""
    row = out_of_place or in_place
    assert row
    what = f"{row.size_bytes:12d} {row.count:12d} {row.dtype:>8s} {row.op or 'none':>6s}  {row.implementation:{width}s}"
    note = "" if row.mode in ("graph", "host") else f"  {row.mode}"
    return f"{what}  {_numbers(out_of_place)}  {_numbers(in_place)}{note}"


def _numbers(row: Row | None) -> str:
    if not row:
        return f"{'-':>9s} {'-':>9s} {'-':>7s} {'-':>7s} {'-':>6s}"
    return f"{row.median_us:9.2f} {row.p99_us:9.2f} {row.algbw:7.2f} {row.busbw:7.2f} {row.wrong:6d}"


def tail(result: Result) -> list[str]:
    """The lines below the table."""
    wrong = sum(row.wrong for row in result.rows)
    lines = [f"# Wrong elements: {wrong} {'OK' if wrong == 0 else 'FAILED'}"] if result.rows else []
    lines += [f"# {name} left out: {why}" for name, why in result.refused.items()]
    if result.host_us:
        cost = ", ".join(f"{name} {us:.2f}" for name, us in result.host_us.items())
        lines.append(f"# Host time of a call at the smallest size, us: {cost}")
    return lines


def comparison(result: Result) -> list[str]:
    """The times of all implementations side by side, in us of a call; [] for a single implementation.

    A line ends with the ratios of two times to the library's: of the best baseline, and of its best named algorithm.
    """
    names, groups = result.implementations(), result.groups()
    if len(names) < 2:
        return []
    lines = ["#", f"#{'size':>10s}  " + "  ".join(f"{name:>16s}" for name in names)]
    slower: list[str] = []
    for group in groups:
        if len(groups) > 1:
            lines.append(f"# {group.rows[0].dtype} {group.rows[0].op}")
        series = {name: group.series(name) for name in names}
        for size in sorted({row.size_bytes for row in group.rows}):
            us = {name: series[name][size].median_us for name in names if size in series[name]}
            cells = [f"{us[name]:16.2f}" if name in us else f"{'-':>16s}" for name in names]
            lines.append(f" {size_text(size):>10s}  {'  '.join(cells)}{_ratios(us)}")
            own = [name for name in us if name not in BASELINES]
            best = min(own, key=lambda name: us[name], default=THIS_LIBRARY)
            if THIS_LIBRARY in us and us[THIS_LIBRARY] > CLEARLY * us[best]:
                slower.append(f"{best} at {size_text(size)}")
    if slower:
        remedy = ": run python -m pennympi tune" if result.rows[0].collective == "allreduce" else ""
        lines.append(f"# auto is slower than {', '.join(slower)}{remedy}")
    return lines


def _ratios(us: dict[str, float]) -> str:
    """The ratios for one size.  us: {implementation: time of a call}"""
    baselines, own = [name for name in us if name in BASELINES], [name for name in us if name not in BASELINES]
    ours_us = us[THIS_LIBRARY] if THIS_LIBRARY in us else min((us[name] for name in own), default=0.0)
    text = ""
    for names in (baselines, [name for name in own if name != THIS_LIBRARY]):
        if names and ours_us:
            best = min(names, key=lambda name: us[name])
            text += f"  {best} / {THIS_LIBRARY}: {us[best] / ours_us:.2f}"
    return text
