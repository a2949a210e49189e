"""Which NIC serves which PE of a node."""

from collections import Counter
from collections.abc import Sequence

from .distance import NEAREST_FIRST, Spot, distance
from .nics import Nic


def fabric(nics: Sequence[Nic]) -> list[Nic]:
    """The NICs that carry traffic between nodes: the fastest RDMA ones whose link is up."""
    able = [nic for nic in nics if nic.kind != "Ethernet" and nic.up]
    return [nic for nic in able if nic.gbit_s == max(other.gbit_s for other in able)]


def serve(gpus: Sequence[Spot], nics: Sequence[Nic]) -> list[int]:
    """Of each GPU of a node, in order of local rank, the index of its NIC among ``nics``.

    The nearest one; of several as near, the one with the fewest GPUs so far, then the first.
    """
    used: Counter[int] = Counter()
    served = []
    for gpu in gpus:
        served.append(min(range(len(nics)), key=lambda i: (NEAREST_FIRST.index(distance(gpu, nics[i].spot)), used[i], i)))
        used[served[-1]] += 1
    return served
