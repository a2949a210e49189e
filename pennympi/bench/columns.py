"""The table of a run: nccl-tests' columns, with the implementation's name and the 99th percentile."""

from .result import Result, Row
from .rivals import RIVALS
from .sizes import show

OURS = "pennympi"
_FORM = f"{'time':>9s} {'p99':>9s} {'algbw':>7s} {'busbw':>7s} {'#wrong':>6s}"
_UNITS = f"{'(us)':>9s} {'(us)':>9s} {'(GB/s)':>7s} {'(GB/s)':>7s} {'':6s}"


def head(width: int) -> list[str]:
    """The lines above the table.  width: of the longest name, in characters"""
    left = f"#{'size':>11s} {'count':>12s} {'type':>8s} {'redop':>6s}  {'':{width}s}"
    units = f"#{'(B)':>11s} {'(elements)':>12s} {'':8s} {'':6s}  {'':{width}s}"
    gap = len(left)
    return [
        f"#{'':{gap - 1}s}  {'out-of-place':^{len(_FORM)}s}  {'in-place':^{len(_FORM)}s}",
        f"{left}  {_FORM}  {_FORM}",
        f"{units}  {_UNITS}  {_UNITS}",
    ]


def _form(row: Row | None) -> str:
    if row is None:
        return f"{'-':>9s} {'-':>9s} {'-':>7s} {'-':>7s} {'-':>6s}"
    p99 = "-" if row.p99_us is None else f"{row.p99_us:.2f}"
    return f"{row.median_us:9.2f} {p99:>9s} {row.algbw:7.2f} {row.busbw:7.2f} {row.wrong:6d}"


def line(out_of_place: Row | None, in_place: Row | None, width: int) -> str:
    """The line for one implementation and one size."""
    row = out_of_place or in_place
    assert row is not None
    left = f"{row.size_bytes:12d} {row.count:12d} {row.dtype:>8s} {row.op or 'none':>6s}  {row.implementation:{width}s}"
    note = "" if row.mode in ("graph", "host") else f"  {row.mode}"
    return f"{left}  {_form(out_of_place)}  {_form(in_place)}{note}"


def tail(result: Result) -> list[str]:
    """The lines below the table."""
    wrong = sum(row.wrong for row in result.rows)
    lines = [f"# Wrong elements: {wrong} {'OK' if wrong == 0 else 'FAILED'}"] if result.rows else []
    for name in result.implementations():
        rows = [row for row in result.rows if row.implementation == name]
        lines.append(f"# Avg bus bandwidth of {name}: {sum(row.busbw for row in rows) / len(rows):.4g} GB/s")
    lines += [f"# {name} left out: {why}" for name, why in result.refused.items()]
    if result.floor:
        told = f"a launch {result.floor.launch_us:.2f} us, a hop {result.floor.hop_us:.2f} us, a link"
        lines.append(f"# Floor: {told} {result.floor.gb_per_s:.1f} GB/s each way")
    if result.host_us:
        cost = ", ".join(f"{name} {us:.2f}" for name, us in result.host_us.items())
        lines.append(f"# Host time of a call at the smallest size, us: {cost}")
    return lines


def comparison(result: Result) -> list[str]:
    """The times of all implementations side by side, in us of a call, and the floor, where it was measured.

    A line ends with the ratio of the best rival's time to the library's.  If several algorithms of the library were
    measured, the ratio of the library's time to that of the best of them follows.
    """
    names = result.implementations()
    if len(names) < 2 and not result.floor:
        return []
    lines = ["#", f"#{'size':>10s}  " + "  ".join(f"{name:>16s}" for name in names)]
    for group in result.groups():
        if len(result.groups()) > 1:
            lines.append(f"# {group.rows[0].dtype} {group.rows[0].op}")
        series = {name: group.series(name) for name in names}
        for size in sorted({size for one in series.values() for size in one}):
            us = {name: series[name][size].median_us for name in names if size in series[name]}
            cells = [f"{us[name]:16.2f}" if name in us else f"{'-':>16s}" for name in names]
            floor_us = result.floor.us(next(one[size] for one in series.values() if size in one)) if result.floor else 0.0
            lines.append(f" {show(size):>10s}  {'  '.join(cells)}{_verdict(us)}{_share(floor_us, us)}")
    return lines


def _share(floor_us: float, us: dict[str, float]) -> str:
    """How near the library is to the floor, where there is one."""
    own = us.get(OURS, min(us.values()))
    return f"  floor: {floor_us:.2f}, {floor_us / own:.0%} of the time" if floor_us else ""


def _verdict(us: dict[str, float]) -> str:
    """The ratios for one size.  us: {implementation: time of a call}"""
    own = {name: value for name, value in us.items() if name not in RIVALS}
    rivals = {name: value for name, value in us.items() if name in RIVALS}
    words = ""
    if own and rivals:
        best = min(rivals, key=lambda name: rivals[name])
        words += f"  {best} / {OURS}: {rivals[best] / own.get(OURS, min(own.values())):.2f}"
    algorithms = {name: value for name, value in own.items() if name != OURS}
    if algorithms:
        best = min(algorithms, key=lambda name: algorithms[name])
        words += f"  best: {best}"
        words += f", {OURS} / best: {own[OURS] / algorithms[best]:.2f}" if OURS in own else ""
    return words
