"""How far two PCI devices are apart, in the words of ``nvidia-smi topo -m``."""

import re
from dataclasses import dataclass
from pathlib import Path

SYS = Path("/sys")
# PIX: under one PCIe switch; PXB: over several; PHB: over the host bridge; NODE: over host bridges of one
# NUMA node; SYS: between NUMA nodes.  "?": not known.
NEAREST_FIRST = ("X", "PIX", "PXB", "PHB", "NODE", "SYS", "?")
_HOP = re.compile(r"pci[0-9a-f]{4,}:[0-9a-f]{2}|[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]")


@dataclass(frozen=True)
class Spot:
    """Where a device hangs.  path: the host bridge, the PCIe bridges, the device; numa: its node, -1 unknown."""

    path: tuple[str, ...] = ()
    numa: int = -1


def spot_of(device: Path) -> Spot:
    """The spot of a folder of sysfs (links are followed); an empty one for what is no PCI device, or is not there."""
    if not device.exists():
        return Spot()
    real = device.resolve()
    hops = tuple(part for part in real.parts if _HOP.fullmatch(part))
    while hops and real.name != hops[-1]:
        real = real.parent  # virtio and the like sit below their PCI device
    try:
        numa = int((real / "numa_node").read_text())
    except (OSError, ValueError):
        numa = -1
    return Spot(hops, numa) if hops else Spot()


def spot_of_bus_id(bus_id: str, root: Path = SYS) -> Spot:
    """The spot of a PCI address such as "0000:19:00.0" (CUDA writes it in capitals)."""
    return spot_of(root / "bus" / "pci" / "devices" / bus_id.lower()) if bus_id else Spot()


def distance(a: Spot, b: Spot) -> str:
    """One of NEAREST_FIRST."""
    if not a.path or not b.path:
        return "?"
    if a.path == b.path:
        return "X"
    shared = sum(1 for k in range(min(len(a.path), len(b.path))) if a.path[: k + 1] == b.path[: k + 1])
    if shared == 0:
        return "NODE" if a.numa == b.numa else "SYS"
    if shared == 1:
        return "PHB"
    below = max(len(a.path), len(b.path)) - shared  # a switch's port, then the device
    return "PIX" if below <= 2 else "PXB"
