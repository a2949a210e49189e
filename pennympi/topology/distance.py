"""The distance of two PCI devices, in the words of ``nvidia-smi topo -m``."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

SYS = Path("/sys")
# X: one device; PIX: under one PCIe switch; PXB: through several switches; PHB: through the host bridge; NODE: through
# host bridges of one NUMA node; SYS: between NUMA nodes; "?": not known.
NEAREST_FIRST = ("X", "PIX", "PXB", "PHB", "NODE", "SYS", "?")
_PCI_NAME = re.compile(r"pci[0-9a-f]{4,}:[0-9a-f]{2}|[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]")


@dataclass(frozen=True)
class PciLocation:
    """The location of a device on PCI.

    path: names of the host bridge, the PCIe bridges and the device; (): not known
    numa: number of the device's NUMA node; -1: not known
    """

    path: tuple[str, ...] = ()
    numa: int = -1


def location_of(device: Path) -> PciLocation:
    """The location of the device with this folder (or link) in sysfs; empty if it is missing or not on PCI."""
    if not device.exists():
        return PciLocation()
    real = device.resolve()
    names = tuple(part for part in real.parts if _PCI_NAME.fullmatch(part))
    while names and real.name != names[-1]:
        real = real.parent  # the folder of a virtio device, for example, lies in that of its PCI device
    try:
        numa = int((real / "numa_node").read_text())
    except (OSError, ValueError):
        numa = -1
    return PciLocation(names, numa) if names else PciLocation()


def location_of_bus_id(bus_id: str, root: Path = SYS) -> PciLocation:
    """The location of a PCI address such as "0000:19:00.0" (CUDA writes it in capitals)."""
    return location_of(root / "bus" / "pci" / "devices" / bus_id.lower()) if bus_id else PciLocation()


def distance(a: PciLocation, b: PciLocation) -> str:
    """The distance of two devices: a member of NEAREST_FIRST."""
    if not a.path or not b.path:
        return "?"
    if a.path == b.path:
        return "X"
    shared = len(os.path.commonprefix([a.path, b.path]))
    if shared == 0:
        return "NODE" if a.numa == b.numa else "SYS"
    if shared == 1:
        return "PHB"
    levels = max(len(a.path), len(b.path)) - shared  # a port of the switch, then the device
    return "PIX" if levels <= 2 else "PXB"
