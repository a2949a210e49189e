"""What the cost model says of machines that nobody has here: nodes of 8 GPUs on NVLink, a rail for each GPU."""

from collections.abc import Iterable, Sequence

from ..arrays.dtypes import DType
from ..bench.sizes import show
from ..kernels.algorithm import Limits, Place
from ..selection.machine import NVLINK
from ..selection.selection import Selection

GPUS = [16, 32, 64, 128, 256, 512, 1024]
A_NODE = 8
LIMITS = Limits(max_blocks=132, buffer_bytes=256 << 10)  # of an H200


def selection(gpus: int) -> Selection:
    """The choice for so many GPUs.  Raises ValueError unless they fill their nodes."""
    if gpus < 1 or (gpus > A_NODE and gpus % A_NODE):
        raise ValueError(f"{gpus} GPUs do not fill nodes of {A_NODE}")
    place = Place(tuple(pe // A_NODE for pe in range(gpus)), ll128_safe=gpus <= A_NODE)
    return Selection(place, LIMITS, NVLINK, None, f"{gpus} GPUs")


def table(gpus: Iterable[int], sizes: Sequence[int], dtype: DType, op: str) -> list[str]:
    """Markdown: for each size and number of GPUs the fastest algorithm and its time."""
    choices = {n: selection(n) for n in gpus}
    lines = [
        f"Predicted AllReduce, {dtype.name} {op}, us a call: nodes of {A_NODE} GPUs, {NVLINK.name} inside, "
        f"{A_NODE} rails of {NVLINK.nic_gb_s:g} GB/s and {NVLINK.net_hop_us:g} us between.",
        "",
        "| size | " + " | ".join(f"{n} GPUs" for n in choices) + " |",
        "|---" * (len(choices) + 1) + "|",
    ]
    for nbytes in sizes:
        cells = []
        for one in choices.values():
            told = one.explain(nbytes, dtype, op)
            cells.append(f"{told.modelled[told.algorithm]:.4g} {told.algorithm}")
        lines.append(f"| {show(nbytes)} | " + " | ".join(cells) + " |")
    return lines
