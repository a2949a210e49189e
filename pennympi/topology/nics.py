"""The NICs of this host, from sysfs, and their assignment to PEs."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .distance import NEAREST_FIRST, SYS, PciLocation, distance, location_of


@dataclass(frozen=True)
class Nic:
    """A NIC with RDMA.

    kind: "InfiniBand" or "RoCE";  gbit_s: speed in Gbit/s; 0: not known;  up: True if the link is up
    """

    name: str
    kind: str
    gbit_s: float
    up: bool
    location: PciLocation


def nics(root: Path = SYS) -> list[Nic]:
    """All NICs with RDMA on PCI, short names first: mlx5_2 before mlx5_10."""
    folder = root / "class" / "infiniband"
    all_nics = map(_nic, folder.iterdir() if folder.is_dir() else [])
    return sorted((nic for nic in all_nics if nic.location.path), key=lambda nic: (len(nic.name), nic.name))


def _nic(folder: Path) -> Nic:
    port = folder / "ports" / "1"
    rate = re.match(r"[\d.]+", _read(port / "rate"))  # "400 Gb/sec (4X NDR)"
    kind = "RoCE" if _read(port / "link_layer") == "Ethernet" else "InfiniBand"
    gbit_s, up = float(rate[0]) if rate else 0.0, "ACTIVE" in _read(port / "state")
    return Nic(folder.name, kind, gbit_s, up, location_of(folder / "device"))


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:  # no such file, or a driver that refuses to answer
        return ""


def inter_node_nics(nics: Sequence[Nic]) -> list[Nic]:
    """The NICs that carry traffic between nodes: the fastest NICs whose link is up."""
    able = [nic for nic in nics if nic.up]
    fastest = max((nic.gbit_s for nic in able), default=0)
    return [nic for nic in able if nic.gbit_s == fastest]


def assign_nics(gpus: Sequence[PciLocation], nics: Sequence[Nic]) -> list[int]:
    """For each GPU of a node, in order of local rank, the index in ``nics`` of the NIC that it uses.

    A GPU uses the nearest NIC; of NICs at the same distance, the NIC with the fewest GPUs so far, then the first NIC.
    """
    n_gpus: Counter[int] = Counter()  # {index of a NIC: number of its GPUs}
    assigned = []
    for gpu in gpus:
        distances = [NEAREST_FIRST.index(distance(gpu, nic.location)) for nic in nics]
        nearest = min(range(len(nics)), key=lambda i: (distances[i], n_gpus[i], i))
        n_gpus[nearest] += 1
        assigned.append(nearest)
    return assigned
