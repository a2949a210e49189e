"""The NICs of this host, from sysfs."""

import re
from dataclasses import dataclass
from pathlib import Path

from .distance import SYS, PciLocation, location_of


@dataclass(frozen=True)
class Nic:
    """One NIC.

    kind: "InfiniBand", "RoCE" or "Ethernet";  gbit_s: its speed in Gbit/s, 0 if not known;  up: its link is up
    """

    name: str
    kind: str
    gbit_s: float
    up: bool
    location: PciLocation


def nics(root: Path = SYS) -> list[Nic]:
    """All NICs on PCI, each once: RDMA NICs first, then Ethernet, each in order of name (mlx5_2 before mlx5_10)."""
    found = [_rdma(folder) for folder in _folders(root / "class" / "infiniband")]
    known = {nic.location.path for nic in found}
    found += [nic for nic in map(_ethernet, _folders(root / "class" / "net")) if nic.location.path not in known]
    return [nic for nic in found if nic.location.path]


def _folders(folder: Path) -> list[Path]:
    def natural(path: Path) -> list[tuple[int, str]]:
        return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", path.name)]

    return sorted(folder.iterdir(), key=natural) if folder.is_dir() else []


def _rdma(folder: Path) -> Nic:
    port = folder / "ports" / "1"
    rate = re.match(r"[\d.]+", _read(port / "rate"))  # "400 Gb/sec (4X NDR)"
    kind = "RoCE" if _read(port / "link_layer") == "Ethernet" else "InfiniBand"
    gbit_s, up = float(rate[0]) if rate else 0.0, "ACTIVE" in _read(port / "state")
    return Nic(folder.name, kind, gbit_s, up, location_of(folder / "device"))


def _ethernet(folder: Path) -> Nic:
    speed = _read(folder / "speed")  # in Mbit/s; -1 or unreadable without a link
    gbit_s = max(0.0, float(speed) / 1000) if re.fullmatch(r"-?\d+", speed) else 0.0
    up = _read(folder / "operstate") == "up"
    return Nic(folder.name, "Ethernet", gbit_s, up, location_of(folder / "device"))


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:  # no such file, or a driver that refuses to answer
        return ""
