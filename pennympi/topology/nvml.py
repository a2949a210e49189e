"""NVLinks of a GPU, from NVML through cuda.bindings or nvidia-ml-py, whichever is installed."""

from collections import Counter
from importlib import import_module
from typing import Any

MAX_LINKS = 18  # of a GPU
_SWITCH = 2  # NVML's number for a remote device that is an NVSwitch


def nvlinks(bus_id: str) -> dict[str, int] | None:
    """{peer: number of active NVLinks to it} of one GPU, or None if NVML cannot be asked.

    bus_id: the GPU's PCI address, "0000:19:00.0"
    A peer is the PCI address of another GPU, or "switch" for all NVSwitches together.
    """
    functions = _from_bindings() or _from_pynvml()
    if functions is None:
        return None
    handle, state, remote_kind, remote_bus_id = functions
    found: Counter[str] = Counter()
    try:
        device = handle(bus_id)
    except Exception:  # each library has its own error for a GPU that is hidden or gone
        return None
    for link in range(MAX_LINKS):
        try:
            if int(state(device, link)) != 1:  # not active
                continue
            is_switch = int(remote_kind(device, link)) == _SWITCH
            found["switch" if is_switch else sysfs_bus_id(remote_bus_id(device, link))] += 1
        except Exception:  # there is no such link, or the driver does not support the question
            continue
    return dict(found)


def sysfs_bus_id(bus_id: str | bytes) -> str:
    """A PCI address as sysfs writes it: a domain of four digits, lower-case letters."""
    text = bus_id.decode() if isinstance(bus_id, bytes) else bus_id
    domain, _, rest = text.strip("\0").lower().partition(":")
    return f"{domain[-4:]}:{rest}"


def _started(name: str) -> Any:
    """The module of this name, after it has started NVML; None if it is not installed or there is no driver."""
    try:
        module = import_module(name)
        (module.init_v2 if hasattr(module, "init_v2") else module.nvmlInit)()
    except Exception:
        return None
    return module


def _from_bindings() -> Any:
    """NVML's functions in cuda.bindings: (GPU's handle, link's state, kind of its peer, PCI address of its peer)."""
    nvml = _started("cuda.bindings.nvml")
    if nvml is None:
        return None
    return (
        nvml.device_get_handle_by_pci_bus_id_v2,
        nvml.device_get_nvlink_state,
        nvml.device_get_nvlink_remote_device_type,
        lambda device, link: nvml.device_get_nvlink_remote_pci_info_v2(device, link).bus_id,
    )


def _from_pynvml() -> Any:
    """The same functions in nvidia-ml-py."""
    nvml = _started("pynvml")
    if nvml is None:
        return None
    return (
        lambda bus_id: nvml.nvmlDeviceGetHandleByPciBusId(bus_id.encode()),
        nvml.nvmlDeviceGetNvLinkState,
        nvml.nvmlDeviceGetNvLinkRemoteDeviceType,
        lambda device, link: nvml.nvmlDeviceGetNvLinkRemotePciInfo(device, link).busId,
    )
