"""What one PE sees of its machine, to be gathered from all of them."""

import platform
from dataclasses import dataclass
from pathlib import Path

from .distance import SYS, Spot, spot_of_bus_id
from .nics import Nic, nics
from .nvml import nvlinks, short


@dataclass(frozen=True)
class Sight:
    """host: its name;  device: of the PE, in words;  bus_id: of its GPU, "" on the host backend
    spot: of its GPU;  nics: of its host;  links: NVLinks of its GPU (see ``nvml``), None unknown
    """

    host: str
    device: str
    bus_id: str = ""
    spot: Spot = Spot()
    nics: tuple[Nic, ...] = ()
    links: dict[str, int] | None = None


def look(device: str, bus_id: str, root: Path = SYS) -> Sight:
    """What this process sees; it asks sysfs and NVML, and neither has to be there."""
    bus_id = short(bus_id) if bus_id else ""
    links = nvlinks(bus_id) if bus_id else None
    return Sight(platform.node(), device, bus_id, spot_of_bus_id(bus_id, root), tuple(nics(root)), links)
