"""The NICs of this host, from sysfs, and which of them serves which PE."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .distance import NEAREST_FIRST, SYS, PciLocation, distance, location_of


@dataclass(frozen=True)
class Nic:
    """One NIC with RDMA.

    kind: "InfiniBand" or "RoCE";  gbit_s: its speed in Gbit/s, 0 if not known;  up: its link is up
    """

    name: str
    kind: str
    gbit_s: float
    up: bool
    location: PciLocation


def nics(root: Path = SYS) -> list[Nic]:
    """All NICs with RDMA on PCI, short names first: mlx5_2 before mlx5_10."""
    folder = root / "class" / "infiniband"
    found = map(_nic, folder.iterdir() if folder.is_dir() else [])
    return sorted((nic for nic in found if nic.location.path), key=lambda nic: (len(nic.name), nic.name))


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
    """The NICs that carry traffic between nodes: the fastest whose link is up."""
    able = [nic for nic in nics if nic.up]
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
