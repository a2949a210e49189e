"""The plot of docs/guides/hosts.md: what the cost model predicts between hosts, over what was measured."""

import json

from drawing import COLOURS, HEAD_PT, pyplot, quiet

NEAR = 0.2  # of the band around what is right
CASES = {"25 Mbit/s": 0, "100 Mbit/s": 1, "1 Gbit/s": 2, "unlimited": 3}  # a colour each
LINES = ("-", "--", ":")  # of the results with links of a speed


def ratios(data):
    """{bytes: modelled time / measured time} of what ``auto`` chooses."""
    return {row["nbytes"]: row["modelled"][row["auto"]] / row["us"][row["auto"]] for row in data["allreduce"]}


def predictions(paths):
    """A line for each result."""
    results = sorted((json.loads(path.read_text()) for path in paths), key=lambda one: (CASES[one["link"]], one["nodes"]))
    figure, axes = pyplot().subplots(figsize=(8, 3.6), layout="constrained")
    axes.axhspan(1 - NEAR, 1 + NEAR, color="#e5e7eb", zorder=0)
    axes.axhline(1, color="#111111", linewidth=1)
    for k, data in enumerate(results):
        before = [one["link"] for one in results[:k]].count(data["link"])
        points, label = ratios(data), f"{' + '.join(map(str, data['nodes']))} PEs, {data['link']}"
        look = {"color": COLOURS[CASES[data["link"]]], "linestyle": LINES[before], "marker": "o", "markersize": 4}
        axes.plot(list(points), list(points.values()), label=label, **look)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_yticks([0.25, 0.5, 1, 2], ["1/4", "1/2", "as predicted", "2"])
    axes.set_xticks([1 << bits for bits in (3, 10, 17, 24)], ["8 B", "1 KiB", "128 KiB", "16 MiB"])
    axes.minorticks_off()
    axes.set_xlabel("size of the vector")
    axes.legend(frameon=False, fontsize=8, ncols=3, loc="lower left", bbox_to_anchor=(0, 1))
    title = "AllReduce as chosen, between hosts: predicted / measured time; the band is 20 %"
    figure.suptitle(title, fontsize=HEAD_PT, x=0.01, ha="left")
    quiet(axes, "y")
    return figure
