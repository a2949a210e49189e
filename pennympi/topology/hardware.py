"""The hardware of a PE, from which links and rails are found."""

import platform
from collections import Counter
from dataclasses import dataclass
from importlib import import_module

from .distance import PciLocation, location_of_bus_id
from .nics import Nic, nics

MAX_LINKS = 18  # most NVLinks of a GPU
_SWITCH = 2  # NVML's number for a remote device that is an NVSwitch


@dataclass(frozen=True)
class Hardware:
    """The hardware of a PE.

    host:     name of the host;  device: name of the PE's device
    bus_id:   PCI address of the PE's GPU ("" on the host backend);  location: location of this GPU on PCI
    nics:     NICs of the host
    nvlinks:  result of the function ``nvlinks``
    """

    host: str
    device: str
    bus_id: str = ""
    location: PciLocation = PciLocation()
    nics: tuple[Nic, ...] = ()
    nvlinks: dict[str, int] | None = None


def read_hardware(device: str, bus_id: str) -> Hardware:
    """The hardware by sysfs and NVML, both of which may be missing."""
    bus_id = sysfs_bus_id(bus_id) if bus_id else ""
    links = nvlinks(bus_id) if bus_id else None
    return Hardware(platform.node(), device, bus_id, location_of_bus_id(bus_id), tuple(nics()), links)


def sysfs_bus_id(bus_id: str) -> str:
    """A PCI address as sysfs writes it: a domain of four digits, lower-case letters."""
    domain, _, bus = bus_id.lower().partition(":")
    return f"{domain[-4:]}:{bus}"


def nvlinks(bus_id: str) -> dict[str, int] | None:
    """{peer: number of active NVLinks to it} of a GPU, by NVML; None if NVML does not answer.

    bus_id: the GPU's PCI address, "0000:19:00.0"
    A peer is the PCI address of another GPU, or "switch" for all NVSwitches together.
    """
    links: Counter[str] = Counter()
    try:
        nvml = import_module("cuda.bindings.nvml")
        nvml.init_v2()
        device = nvml.device_get_handle_by_pci_bus_id_v2(bus_id)
    except Exception:  # NVML is not installed, has no driver, or does not show the GPU: each has its own error
        return None
    for link in range(MAX_LINKS):
        try:
            if int(nvml.device_get_nvlink_state(device, link)) != 1:  # not active
                continue
            is_switch = int(nvml.device_get_nvlink_remote_device_type(device, link)) == _SWITCH
            peer = "switch" if is_switch else nvml.device_get_nvlink_remote_pci_info_v2(device, link).bus_id
            links["switch" if is_switch else sysfs_bus_id(peer)] += 1
        except Exception:  # no such link, or the driver does not support the call
            continue
    return dict(links)
