"""The plots of docs/guides/grids.md and docs/guides/poisson.md: us on two GPUs, beside others in the same job."""

import json

import grids_targets
from drawing import COLOURS, HEAD_PT, pyplot, quiet
from grids_results import best_us, rows, short


def bars(title, names, cases, floors):
    """A figure of us.  names: of the bars of a case;  cases: {case: {name: us}};  floors: {case: us or None}"""
    names = [name for name in names if any(name in us for us in cases.values())]
    figure, axes = pyplot().subplots(figsize=(8, 1.0 + 0.24 * len(names) * len(cases)), layout="constrained")
    width = 0.8 / len(names)
    for k, name in enumerate(names):
        found = [(row, us[name]) for row, us in enumerate(cases.values()) if us.get(name)]
        at = [row + width * k for row, _ in found]
        drawn = axes.barh(at, [us for _, us in found], 0.9 * width, color=COLOURS[k % len(COLOURS)], label=name)
        axes.bar_label(drawn, [f"{short(us)} us" for _, us in found], padding=4, fontsize=9)
    low = [(us, row - width / 2) for row, us in enumerate(floors.values()) if us]
    for us, top in low:
        axes.plot([us, us], [top, top + 0.8], color="#111111", linewidth=2, label="floor" if top == low[0][1] else None)
    axes.set_xscale("log")
    axes.set_xlim(0.7 * min([*(us for us, _ in low), *(us for one in cases.values() for us in one.values())]))
    axes.set_xlim(right=1.8 * axes.get_xlim()[1])
    low_us, high_us = axes.get_xlim()
    ticks = [10**k for k in range(7) if low_us <= 10**k <= high_us]
    axes.set_xticks(ticks, [f"{us} us" for us in ticks])
    axes.minorticks_off()
    axes.set_yticks([row + 0.4 - width / 2 for row in range(len(cases))], list(cases))
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.legend(frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0, 1), ncols=len(names) + 1)
    figure.suptitle(title, fontsize=HEAD_PT, x=0.01, ha="left")
    quiet(axes, "x")
    return figure


def exchanges(data):
    """Six faces on two PEs, the fastest form of each way."""
    names = {"pennympi": "this library", "nccl": "NCCL, packed", "mpi": "mpi4py, staged"}
    cases, floors = {}, {}
    for row in rows(data, 2, "halo"):
        case = f"{row['points']}^3 a PE, cut along {'xyz'[[p > 1 for p in row['dims']].index(True)]}"
        cases.setdefault(case, {})[names[row["way"]]] = best_us(row)
        floors[case] = grids_targets.exchange_floor(data, row["points"], True)
    return bars(
        f"2 x {data['2']['facts']['device']}. Six faces of a float64 field, us an exchange", names.values(), cases, floors
    )


def iterations(data):
    """An iteration of conjugate gradients on two PEs: the fastest of ours, and what others have."""
    cases, floors = {}, {}
    for row in rows(data, 2, "cg") + rows(data, 2, "nvidia_cg"):
        n, name = row["shape"][0], grids_targets.kind(row["variant"])
        if "us" in row and name:
            us = cases.setdefault(f"{n}^3", {})
            us[name] = min(row["us"], us.get(name, row["us"]))
            floors[f"{n}^3"] = grids_targets.iteration_floor(data, n, 2)
    title = f"2 x {data['2']['facts']['device']}. An iteration of conjugate gradients, 7 points, float64, us"
    return bars(title, [*grids_targets.KINDS, grids_targets.PUBLIC], cases, floors)


def figures(path):
    """{name: figure} of a result."""
    data, made = json.loads(path.read_text()), {}
    if rows(data, 2, "halo"):
        made["halos"] = exchanges(data)
    if rows(data, 2, "cg"):
        made["cg"] = iterations(data)
    return made
