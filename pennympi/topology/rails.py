"""Which NIC serves which PE of a node."""

from collections import Counter
from collections.abc import Sequence

from .distance import NEAREST_FIRST, PciLocation, distance
from .nics import Nic


def inter_node_nics(nics: Sequence[Nic]) -> list[Nic]:
    """The NICs that carry traffic between nodes: the fastest RDMA NICs whose link is up."""
    able = [nic for nic in nics if nic.kind != "Ethernet" and nic.up]
    return [nic for nic in able if nic.gbit_s == max(other.gbit_s for other in able)]


def assign_nics(gpus: Sequence[PciLocation], nics: Sequence[Nic]) -> list[int]:
    """For each GPU of a node, in order of local rank, the index in ``nics`` of the NIC that it uses.

    A GPU uses the nearest NIC; of several at the same distance, the one with the fewest GPUs so far, then the first.
    """
    n_gpus: Counter[int] = Counter()  # of each NIC
    assigned = []
    for gpu in gpus:
        away = [NEAREST_FIRST.index(distance(gpu, nic.location)) for nic in nics]
        nearest = min(range(len(nics)), key=lambda i: (away[i], n_gpus[i], i))
        n_gpus[nearest] += 1
        assigned.append(nearest)
    return assigned
