"""Predictions of the cost model for nodes of 8 GPUs on NVLink, with a rail for each GPU.

``python -m pennympi.command.predictions`` prints docs/predictions.md.
"""

from collections.abc import Iterable, Sequence

from ..arrays.dtypes import TABLE as DTYPES
from ..arrays.dtypes import DType
from ..bench.sizes import parse, show
from ..kernels.algorithm import Limits, Place
from ..selection.machine import NVLINK
from ..selection.selection import Selection

GPUS = [16, 32, 64, 128, 256, 512, 1024]
SIZES = "1K 16K 256K 1M 4M 16M 64M 256M 1G"
GPUS_PER_NODE = 8
LIMITS = Limits(max_blocks=132, buffer_bytes=256 << 10)  # of an H200


def selection(gpus: int) -> Selection:
    """The selection of a team of ``gpus`` GPUs.  Raises ValueError unless they fill their nodes."""
    if gpus < 1 or (gpus > GPUS_PER_NODE and gpus % GPUS_PER_NODE):
        raise ValueError(f"{gpus} GPUs do not fill nodes of {GPUS_PER_NODE}")
    place = Place(tuple(pe // GPUS_PER_NODE for pe in range(gpus)), ll128_safe=gpus <= GPUS_PER_NODE)
    return Selection(place, LIMITS, NVLINK, None, f"{gpus} GPUs")


def table(gpus: Iterable[int], sizes: Sequence[int], dtype: DType, op: str) -> list[str]:
    """A Markdown table: the fastest algorithm and its time for each size, in bytes, and number of GPUs.

    Raises ValueError for GPUs that do not fill their nodes, and as ``Selection.choose``.
    """
    choices = {n: selection(n) for n in gpus}
    lines = [
        f"Predicted AllReduce, {dtype.name} {op}, us a call: nodes of {GPUS_PER_NODE} GPUs, {NVLINK.name} inside, "
        f"{GPUS_PER_NODE} rails of {NVLINK.nic_gb_s:g} GB/s and {NVLINK.net_hop_us:g} us between.",
        "",
        "| size | " + " | ".join(f"{n} GPUs" for n in choices) + " |",
        "|---" * (len(choices) + 1) + "|",
    ]
    for nbytes in sizes:
        cells = []
        for one in choices.values():
            found = one.explain(nbytes, dtype, op)
            cells.append(f"{found.modelled[found.algorithm]:.4g} {found.algorithm}")
        lines.append(f"| {show(nbytes)} | " + " | ".join(cells) + " |")
    return lines


def page() -> str:
    """docs/predictions.md, as Markdown."""
    lines = [
        "# Predictions",
        "",
        "Made by `python -m pennympi.command.predictions`; the same table is printed by",
        f"`python -m pennympi explain --predict {SIZES}`.",
        "These are times of the [cost model](cost-model.md), not measurements. Inside a node, the model is within a",
        "quarter of what two and four H200s measured. Where a vector crosses NVLink and then the network, the model adds",
        "both times, though transfers of different pieces overlap: large sizes may be faster than predicted.",
        "",
        *table(GPUS, [parse(size) for size in SIZES.split()], DTYPES["float32"], "sum"),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
