"""Every environment variable of the library, in one table.

``setting(name)`` reads one; ``python -m pennympi.settings`` prints the page docs/settings.md.
"""

from __future__ import annotations

import difflib
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import PennympiError

PREFIX = "PENNYMPI_"
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


class SettingError(PennympiError, ValueError):
    """An environment variable of the library has a value that cannot be used."""


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise ValueError
    return value


def _count(text: str) -> int:
    value = int(text, 0)
    if value < 0:
        raise ValueError
    return value


def _positive(text: str) -> int:
    value = _count(text)
    if value < 1:
        raise ValueError
    return value


def _switch(text: str) -> bool:
    return {"0": False, "1": True}[text]


def _bytes(text: str) -> int:
    text = text.lower()
    unit = text[-1:] if text[-1:] in "kmg" else ""
    return _count(text.removesuffix(unit)) * _UNITS[unit]


def _auto_or_never(text: str) -> bool:
    return {"auto": True, "0": False}[text.lower()]


def _auto_bytes(text: str) -> int | None:
    return None if text.lower() == "auto" else _positive(str(_bytes(text)))


def _backend(text: str) -> str:
    if text.lower() not in ("auto", "host", "cuda"):
        raise ValueError
    return text.lower()


def _folder(text: str) -> Path:
    return Path(text).expanduser()


def _name(text: str) -> str:
    if not text.replace("_", "").isalnum():
        raise ValueError
    return text.lower()


@dataclass(frozen=True)
class Setting:
    """One row: what a variable is called, what it is when unset, how it is read and what it means."""

    name: str
    default: str
    parse: Callable[[str], Any]
    form: str
    meaning: str


SETTINGS = {
    row.name: row
    for row in (
        Setting("PENNYMPI_BACKEND", "auto", _backend, "auto, host or cuda",
                "Where the symmetric heap and the kernels live; auto takes CUDA where a device and its libraries are."),
        Setting("PENNYMPI_TIMEOUT_S", "60", _seconds, "seconds >= 0; 0 means never",
                "How long a wait for another PE may last without a sign of life of it (a call on any team) before it ends"
                " in PeerTimeout. A PE that makes calls for ever and never comes is waited for as long: nobody can tell"
                " it from one that is late. PEs of other nodes show no signs of life."),
        Setting("PENNYMPI_SYMMETRIC_SIZE", "auto", _auto_bytes, "auto, or bytes with an optional k, m or g (512m)",
                "The symmetric heap of one PE. On the host backend each team has its own, and auto is the smaller of 1"
                " GiB and half of the free shared memory divided by the PEs of the node. On the cuda backend all teams"
                " share that of the first, and a team of all PEs makes it larger when it is full; auto is 2 GiB, or half"
                " of the device's free memory divided by the PEs that use it where that is less."),
        Setting("PENNYMPI_FORCE_NVSHMEM_PUT", "0", _switch, "0 or 1",
                "1 sends every put through NVSHMEM's device call, even where a pointer reaches the peer."),
        Setting("PENNYMPI_MULTICAST", "auto", _auto_or_never, "auto, or 0 for never",
                "Whether the NVSwitch may add up and copy; auto uses it where NVSHMEM has mapped its heap for"
                " multicast (not with NVSHMEM_DISABLE_NVLS=1)."),
        Setting("PENNYMPI_PACKETS", "auto", _auto_or_never, "auto, or 0 for never",
                "Whether messages may be packets, 128-byte lines that links must deliver whole; auto sends them where"
                " every peer is on the same device or on NVLink, 0 on any PE turns them off for its team."),
        Setting("PENNYMPI_CACHE_DIR", "$XDG_CACHE_HOME/pennympi or ~/.cache/pennympi", _folder, "a folder",
                "Where compiled kernels are kept between runs."),
        Setting("PENNYMPI_TOPOLOGY", "auto", str, "auto, N-nodes-of-M (two-nodes-of-eight, 4-nodes-of-4) or a TOML file",
                "The nodes and rails that algorithms see; auto is what MPI and the hardware say. `python -m pennympi"
                " topology` draws them."),
        Setting("PENNYMPI_COUNT_BYTES", "0", _switch, "0 or 1",
                "1 counts the bytes that a PE puts to each other PE on the host backend, for team.bytes_sent()."),
        Setting("PENNYMPI_FIRST_EPOCH", "0", _count, "a whole number >= 0",
                "The epoch that counters start from; tests start it near 2**31 and 2**32."),
        Setting("PENNYMPI_ALLREDUCE", "auto", _name, "auto, or an algorithm's name",
                "The AllReduce algorithm that algorithm=\"auto\" stands for."),
        Setting("PENNYMPI_TUNED", "auto", str, "auto, none, or a TOML file of `python -m pennympi tune`",
                "The measured table that AllReduce algorithms are chosen by; auto is the one that tune wrote for this"
                " device, number of PEs and nodes, else the library's own; without any, a cost model decides."),
        Setting("PENNYMPI_ALL_GATHER", "auto", _name, "auto, or an algorithm's name",
                "The AllGather algorithm that algorithm=\"auto\" stands for."),
        Setting("PENNYMPI_REDUCE_SCATTER", "auto", _name, "auto, or an algorithm's name",
                "The ReduceScatter algorithm that algorithm=\"auto\" stands for."),
        Setting("PENNYMPI_BROADCAST", "auto", _name, "auto, or an algorithm's name",
                "The Broadcast algorithm that algorithm=\"auto\" stands for."),
        Setting("PENNYMPI_REDUCE", "auto", _name, "auto, or an algorithm's name",
                "The Reduce algorithm that algorithm=\"auto\" stands for."),
        Setting("PENNYMPI_ALL_TO_ALL", "auto", _name, "auto, or an algorithm's name",
                "The all-to-all algorithm that algorithm=\"auto\" stands for."),
        Setting("PENNYMPI_PUT_KERNEL_MAX_BYTES", "262144", _bytes, "bytes with an optional k, m or g; 0 for no kernel",
                "The largest put on a stream that a kernel of the library moves; larger ones use NVSHMEM's host call."),
        Setting("PENNYMPI_DEBUG", "0", _switch, "0 or 1",
                "1 compares what every PE is about to do before each collective and raises CollectiveMismatchError."),
    )
}  # fmt: skip


def setting(name: str) -> Any:
    """The value of the variable ``name`` (an unset or empty one gives its default).

    Raises SettingError for a value that cannot be read.
    """
    row = SETTINGS[name]
    text = os.environ.get(name, "").strip()
    if not text:
        return _cache_folder() if name == "PENNYMPI_CACHE_DIR" else row.parse(row.default)
    try:
        return row.parse(text)
    except (ValueError, KeyError):
        raise SettingError(
            f"{name}={text!r} cannot be used: give {row.form}, or unset it for the default ({row.default})"
        ) from None


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "pennympi"


_warned = False


def warn_unknown() -> None:
    """Warns, once a process, of variables that look like ours and are not: a typing error sets nothing."""
    global _warned
    unknown = sorted(name for name in os.environ if name.startswith(PREFIX) and name not in SETTINGS)
    if _warned or not unknown:
        return
    _warned = True
    hints, known = [], [name.removeprefix(PREFIX) for name in SETTINGS]
    for name in unknown:
        close = difflib.get_close_matches(name.removeprefix(PREFIX), known, n=1)
        hints.append(f"{name} (did you mean {PREFIX}{close[0]}?)" if close else name)
    warnings.warn(f"not a setting of pennympi, so without effect: {', '.join(hints)}; see docs/settings.md", stacklevel=2)


def page() -> str:
    """The page docs/settings.md."""
    lines = [
        "# Settings",
        "",
        "Made by `python -m pennympi.settings`; the table is in `pennympi/settings.py`.",
        "Set them alike for every rank of a job, before the program starts.",
        "",
        "| variable | default | value | meaning |",
        "|---|---|---|---|",
    ]
    lines += [f"| `{row.name}` | {row.default} | {row.form} | {row.meaning} |" for row in SETTINGS.values()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
