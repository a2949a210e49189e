"""NVLinks of a GPU, from NVML, by cuda.bindings or by nvidia-ml-py: whichever is there."""

from collections import Counter
from importlib import import_module
from typing import Any

MAX_LINKS = 18  # of a GPU; more are asked for in vain
_SWITCH = 2  # NVML's number for a remote device that is an NVSwitch


def nvlinks(bus_id: str) -> dict[str, int] | None:
    """{bus id of a GPU, or "switch": active NVLinks to it} of one GPU; None where NVML can't be asked.

    bus_id: "0000:19:00.0"
    """
    ask = _bindings() or _pynvml()
    if ask is None:
        return None
    handle, state, kind, remote = ask
    found: Counter[str] = Counter()
    try:
        device = handle(bus_id)
    except Exception:  # each library has its own error for a GPU that is hidden or gone
        return None
    for link in range(MAX_LINKS):
        try:
            if int(state(device, link)) != 1:
                continue
            switch = int(kind(device, link)) == _SWITCH
            found["switch" if switch else short(remote(device, link))] += 1
        except Exception:  # no such link, or a driver that does not tell
            continue
    return dict(found)


def short(bus_id: str | bytes) -> str:
    """A bus id as sysfs writes it: four digits of domain, small letters."""
    text = bus_id.decode() if isinstance(bus_id, bytes) else bus_id
    domain, _, rest = text.strip("\0").lower().partition(":")
    return f"{domain[-4:]}:{rest}"


def _started(name: str) -> Any:
    """The module, with NVML started by the function that it names; None where it is not installed or has no driver."""
    try:
        module = import_module(name)
        (module.init_v2 if hasattr(module, "init_v2") else module.nvmlInit)()
    except Exception:
        return None
    return module


def _bindings() -> Any:
    """(handle, state, kind of remote, bus id of remote) by cuda.bindings.nvml."""
    nvml = _started("cuda.bindings.nvml")
    if nvml is None:
        return None
    return (
        nvml.device_get_handle_by_pci_bus_id_v2,
        nvml.device_get_nvlink_state,
        nvml.device_get_nvlink_remote_device_type,
        lambda device, link: nvml.device_get_nvlink_remote_pci_info_v2(device, link).bus_id,
    )


def _pynvml() -> Any:
    """The same by nvidia-ml-py."""
    nvml = _started("pynvml")
    if nvml is None:
        return None
    return (
        lambda bus_id: nvml.nvmlDeviceGetHandleByPciBusId(bus_id.encode()),
        nvml.nvmlDeviceGetNvLinkState,
        nvml.nvmlDeviceGetNvLinkRemoteDeviceType,
        lambda device, link: nvml.nvmlDeviceGetNvLinkRemotePciInfo(device, link).busId,
    )
