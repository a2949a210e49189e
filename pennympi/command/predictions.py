"""The cost model, and what it predicts for nodes of 8 GPUs on NVLink, with a rail for each GPU.

``python -m pennympi.command.predictions`` prints docs/predictions.md.
"""

from dataclasses import fields

from ..arrays.dtypes import TABLE as DTYPES
from ..bench.sizes import parse, show
from ..kernels.algorithm import Limits, Topology
from ..kernels.cost import Machine
from ..selection.choose import Selection
from ..selection.machine import NVLINK, PCIE, host

PAGE = """# Cost model and predictions

Made by `python -m pennympi.command.predictions`. `algorithm="auto"` chooses an AllReduce by its cost where there is no
table of measured times for the machine. A call takes

    launch_us + rounds * (near_hops * hop_us + net_hops * net_hop_us)
        + rounds * (messages * message_us + signals * signal_us)
        + sent / sent_gb_s + nic / nic_gb_s + moved / moved_gb_s + added / added_gb_s

Each algorithm has its counts (`cost_us` in `kernels/allreduce/`). What they mean and the source of the model stand in
`kernels/cost.py`, the constants in `pennympi/selection/machine.py`.

## Constants

{constants}

## Predictions

These are times of the model, not measurements. Inside a node, it is within a quarter of what two and four H200s measured.
Where a vector crosses NVLink and then the network, it adds both times, though transfers of different pieces overlap:
large sizes may take less.

{predictions}
"""
GPUS, GPUS_PER_NODE = (16, 32, 64, 128, 256, 512, 1024), 8
SIZES = "1K 16K 256K 1M 4M 16M 64M 256M 1G"
LIMITS = Limits(max_blocks=132, buffer_bytes=256 << 10)  # of an H200


def table() -> list[str]:
    """A Markdown table: the fastest algorithm and its time for each size and number of GPUs."""
    lines = [
        f"Predicted AllReduce, float32 sum, us a call: nodes of {GPUS_PER_NODE} GPUs, {NVLINK.name} inside, "
        f"{GPUS_PER_NODE} rails of {NVLINK.nic_gb_s:g} GB/s and {NVLINK.net_hop_us:g} us between.",
        "",
        "| size | " + " | ".join(f"{n} GPUs" for n in GPUS) + " |",
        "|---" * (len(GPUS) + 1) + "|",
    ]
    places = [Topology(tuple(pe // GPUS_PER_NODE for pe in range(n)), ll128_safe=False) for n in GPUS]
    for nbytes in map(parse, SIZES.split()):
        cells = [show(nbytes)]
        for topology in places:
            found = Selection(topology, LIMITS, NVLINK, None, "GPUs").explain(nbytes, DTYPES["float32"], "sum")
            cells.append(f"{found.modelled[found.algorithm]:.4g} {found.algorithm}")
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def constants() -> list[str]:
    """A Markdown table of the machines."""
    machines = (NVLINK, PCIE, host(2, 2), host(4, 2))
    names = [one.name for one in fields(Machine) if one.name not in ("name", "source", "shared_out")]
    lines = ["| | " + " | ".join(one.name for one in machines) + " |", "|---" * (len(machines) + 1) + "|"]
    lines += [f"| {name} | " + " | ".join(f"{getattr(one, name):.4g}" for one in machines) + " |" for name in names]
    return [*lines, "", *(f"- {one.name}: {one.source}." for one in machines[:3])]


def page() -> str:
    """docs/predictions.md, as Markdown."""
    return PAGE.format(constants="\n".join(constants()), predictions="\n".join(table()))


if __name__ == "__main__":
    print(page(), end="")
