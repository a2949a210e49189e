"""The hardware that one PE runs on, gathered from all PEs to find links and rails."""

import platform
from dataclasses import dataclass
from pathlib import Path

from .distance import SYS, PciLocation, location_of_bus_id
from .nics import Nic, nics
from .nvml import nvlinks, sysfs_bus_id


@dataclass(frozen=True)
class Hardware:
    """What one PE runs on.

    host:     the host's name;  device: the PE's device, in words
    bus_id:   PCI address of its GPU ("" on the host backend);  location: of this GPU on PCI
    nics:     the NICs of the host
    nvlinks:  see ``nvml.nvlinks``; None if NVML could not be asked
    """

    host: str
    device: str
    bus_id: str = ""
    location: PciLocation = PciLocation()
    nics: tuple[Nic, ...] = ()
    nvlinks: dict[str, int] | None = None


def read_hardware(device: str, bus_id: str, root: Path = SYS) -> Hardware:
    """What sysfs (below ``root``) and NVML tell this process; both may be missing."""
    bus_id = sysfs_bus_id(bus_id) if bus_id else ""
    links = nvlinks(bus_id) if bus_id else None
    return Hardware(platform.node(), device, bus_id, location_of_bus_id(bus_id, root), tuple(nics(root)), links)
