"""Markdown for the results of ``python -m pennympi bench``."""

import json

from markdown import table

from pennympi.bench.columns import OURS
from pennympi.bench.result import read
from pennympi.bench.rivals import RIVALS
from pennympi.bench.sizes import show

TITLES = {
    "allreduce": "AllReduce",
    "reduce_scatter": "ReduceScatter",
    "all_gather": "AllGather",
    "broadcast": "Broadcast",
    "reduce": "Reduce",
    "all_to_all": "All-to-all",
}
MODES = {"graph": "in a CUDA graph", "eager": "launched one by one", "host": "on the host"}
SLOWEST = "slowest PE, median us a call"


def raw(path):
    return f"[raw](../benchmarks/results/{path.name})"


def of_many_kinds(result, path):
    """A result with several dtypes and ops: one table, with this library only."""
    groups, facts = result.groups(), result.facts
    row = groups[0].rows[0]
    series = {f"{one.rows[0].dtype} {one.rows[0].op}": one.series(OURS) for one in groups}
    sizes = next(iter(series.values()))
    rows = [[show(size), *(f"{one[size].median_us:.2f}" for one in series.values())] for size in sizes]
    what = f"{TITLES[row.collective]} of other dtypes and ops, {facts['PEs']} x {facts['device']} ({raw(path)})"
    return f"{what}, {MODES[row.mode]}, {SLOWEST}:\n\n" + table(["size", *series], rows)


def accuracy(result, path):
    """A result of ``bench accuracy``."""
    facts, rows = result.facts, []
    for row in result.accuracy:
        same = ["yes" if row[key] else "no" for key in ("same_on_all", "same_each_run")]
        rows.append([row["dtype"], row["implementation"], f"{row['mean']:.4g}", f"{row['floor']:.4g}", *same])
    head = ["dtype", "", "mean difference", "the true sum rounded", "same on all PEs", "same in every run"]
    what = f"AllReduce sum of {result.options['elements']} normally distributed values"
    where = f"{facts['PEs']} x {facts['device']} ({raw(path)})"
    return f"{what}, {where}, beside the sum in float64:\n\n" + table(head, rows)


def cells(series, size, floor):
    """Those of one size.  series: {implementation: {size: row}};  floor: as measured, or None"""
    us = {name: rows[size].median_us for name, rows in series.items() if size in rows}
    theirs = [us[name] for name in us if name in RIVALS]
    found = [show(size), *(f"{us[name]:.2f}" if name in us else "" for name in series)]
    if any(name in RIVALS for name in series):
        found.append(f"{min(theirs) / us[OURS]:.2f}" if theirs else "")
    if floor:
        least_us = floor.us(series[OURS][size])
        found += [f"{least_us:.2f}", f"{least_us / us[OURS]:.0%}"]
    return found


def by_size(result, path):
    """Tables of this library, in other forms too where they were measured, its rivals and the floor."""
    facts = result.facts
    names = sorted(result.implementations(), key=lambda name: name in RIVALS)
    rivals = [name for name in names if name in RIVALS]
    versions = dict.fromkeys(facts[name] for name in rivals)
    on = ", ".join([*versions, *(f"{key} {facts[key]}" for key in ("NVSHMEM", "CUDA driver") if key in facts)])
    head = ["size", *(name.replace(f"{OURS} ", "") for name in names)]
    head += ["times faster than the best of the others"] if rivals else []
    head += ["floor", "floor / time"] if result.floor else []
    parts = []
    for group in result.groups():
        row, series = group.rows[0], {name: group.series(name) for name in names}
        op = "" if row.op == "none" else row.op
        of = ", ".join(filter(None, [TITLES[row.collective], row.dtype, op]))
        plan = ", plans" if result.options.get("plan") == "True" else ""  # options are kept as texts
        where = f"{facts['PEs']} x {facts['device']}, {MODES[row.mode]}{plan}"
        rows = [cells(series, size, result.floor) for size in series[OURS]]
        parts += [f"{of}, {where}, {SLOWEST} ({on}; {raw(path)}):", table(head, rows)]
    if floor := result.floor:
        rate = f"a link {floor.gb_per_s:.0f} GB/s each way"
        parts.append(f"The floor: a launch {floor.launch_us:.2f} us, a hop {floor.hop_us:.2f} us, {rate}.")
    if result.host_us:
        cost = ", ".join(f"{name} {us:.1f} us" for name, us in result.host_us.items())
        parts.append(f"Host time of a call at the smallest size: {cost}.")
    return "\n\n".join(parts)


def markdown(path):
    """A result of ``python -m pennympi bench``: a table for each dtype and op, or one for more than two."""
    result = read(path)
    if result.accuracy:
        return accuracy(result, path)
    return (of_many_kinds if len(result.groups()) > 2 else by_size)(result, path)


def tried(path):
    """The tables of a file of trials, whose captions and columns are in it."""
    for one in json.loads(path.read_text())["tables"]:
        rows = [["" if cell is None else cell for cell in row] for row in one["rows"]]
        yield f"{one['what']} ({raw(path)}):\n\n" + table(one["columns"], rows)
