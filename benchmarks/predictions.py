"""The cost model, and what it predicts for nodes of 8 GPUs on NVLink, with a rail for each GPU.

tables.py writes both tables to docs/algorithms.md.
"""

from dataclasses import fields

from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.kernels.algorithm import Limits, Topology
from pennympi.kernels.cost import Machine
from pennympi.selection.choose import Selection
from pennympi.selection.machine import NVLINK, PCIE, host
from pennympi.units import bytes_of, size_text

GPUS, GPUS_PER_NODE = (16, 32, 64, 128, 256, 512, 1024), 8
SIZES = "1K 16K 256K 1M 4M 16M 64M 256M 1G"
LIMITS = Limits(max_blocks=132, buffer_bytes=256 << 10)  # of an H200


def table() -> list[str]:
    """A Markdown table: the fastest algorithm and its time for each size and number of GPUs."""
    lines = [
        f"Predicted AllReduce, float32 sum, us a call: nodes of {GPUS_PER_NODE} GPUs, {NVLINK.name} inside, "
        f"{GPUS_PER_NODE} rails of {NVLINK.nic_gb_s:g} GB/s and {NVLINK.net_step_us:g} us between.",
        "",
        "| size | " + " | ".join(f"{n} GPUs" for n in GPUS) + " |",
        "|---" * (len(GPUS) + 1) + "|",
    ]
    topologies = [Topology(tuple(pe // GPUS_PER_NODE for pe in range(n)), ll128_safe=False) for n in GPUS]
    for nbytes in map(bytes_of, SIZES.split()):
        cells = [size_text(nbytes)]
        for topology in topologies:
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


def parts() -> dict[str, str]:
    """The parts of docs/algorithms.md that the cost model makes, by mark."""
    return {"constants": "\n".join(constants()), "predictions": "\n".join(table())}
