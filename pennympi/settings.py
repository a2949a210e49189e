"""Every environment variable of the library, in one table.

``setting(name)`` reads one variable.  ``python -m pennympi.settings`` prints docs/settings.md.
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
    """An environment variable of the library has a wrong value."""


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


def _folder_or_none(text: str) -> Path | None:
    return None if text.lower() == "none" else _folder(text)


def _name(text: str) -> str:
    if not text.replace("_", "").isalnum():
        raise ValueError
    return text.lower()


@dataclass(frozen=True)
class Setting:
    """One variable.  form: of its value, in words;  meaning: Markdown for the page"""

    name: str
    default: str
    parse: Callable[[str], Any]
    form: str
    meaning: str


SETTINGS = {
    row.name: row
    for row in (
        Setting("PENNYMPI_BACKEND", "auto", _backend, "auto, host or cuda",
                "Where the symmetric heap is and the kernels run; auto is cuda if every PE has a device and its"
                " libraries, else host."),
        Setting("PENNYMPI_TIMEOUT_S", "60", _seconds, "seconds >= 0; 0 means never",
                "How long a wait for another PE may last without a sign of life of that PE (a call on any team); then the"
                " wait ends in PeerTimeout. A PE that keeps making calls is waited for without end, because it may be"
                " late only. PEs of other nodes show no signs of life."),
        Setting("PENNYMPI_SYMMETRIC_SIZE", "auto", _auto_bytes, "auto, or bytes with an optional k, m or g (512m)",
                "Size of the symmetric heap of one PE. On the host backend each team has its own heap, and auto is the"
                " smaller of 1 GiB and half of the free shared memory divided by the PEs of the node. On the cuda backend"
                " all teams share the heap of the first team, and a team of all its PEs makes it larger when it is full;"
                " auto is the smaller of 2 GiB and half of the device's free memory divided by the PEs that use it."),
        Setting("PENNYMPI_FORCE_NVSHMEM_PUT", "0", _switch, "0 or 1",
                "1 sends every put through NVSHMEM's device call, even where a pointer reaches the peer."),
        Setting("PENNYMPI_MULTICAST", "auto", _auto_or_never, "auto, or 0 for never",
                "Whether the NVSwitch may reduce and multicast (NVLink SHARP); auto uses it if NVSHMEM has mapped its"
                " heap for multicast (it does not with NVSHMEM_DISABLE_NVLS=1)."),
        Setting("PENNYMPI_PACKETS", "auto", _auto_or_never, "auto, or 0 for never",
                "Whether messages may be packets, 128-byte lines that links must deliver whole (NCCL's LL128); auto sends"
                " them if every peer is on the same device or on NVLink, 0 on any PE turns them off for its team."),
        Setting("PENNYMPI_CACHE_DIR", "$XDG_CACHE_HOME/pennympi or ~/.cache/pennympi", _folder, "a folder",
                "Where compiled kernels and tuned tables are kept between runs. It must be yours and no other user may"
                " write to it; it is made with mode 0700. Where it can't be used, every run compiles anew, and one"
                " warning says why."),
        Setting("PENNYMPI_CACHE_SHARED", "none", _folder_or_none, "none, or a folder",
                "Another's PENNYMPI_CACHE_DIR, whose compiled kernels this job runs: name only a folder whose owner you"
                " trust. It is only read, and must be writable by its owner alone. What it lacks comes from"
                " PENNYMPI_CACHE_DIR."),
        Setting("PENNYMPI_TOPOLOGY", "auto", str, "auto, N-nodes-of-M (two-nodes-of-eight, 4-nodes-of-4) or a TOML file",
                "The nodes and rails that algorithms see; auto asks the system and the hardware. `python -m pennympi"
                " topology` draws them."),
        Setting("PENNYMPI_COUNT_BYTES", "0", _switch, "0 or 1",
                "1 counts the bytes that a PE puts to each other PE, for team.bytes_sent(); host backend only."),
        Setting("PENNYMPI_FIRST_EPOCH", "0", _count, "a whole number >= 0",
                "The first epoch of all counters; tests set it near 2**31 and 2**32."),
        Setting("PENNYMPI_ALLREDUCE", "auto", _name, "auto, or an algorithm's name",
                "The AllReduce algorithm that runs for algorithm=\"auto\"."),
        Setting("PENNYMPI_TUNED", "auto", str, "auto, none, or a TOML file of `python -m pennympi tune`",
                "The table of measured times by which AllReduce algorithms are chosen; auto is the table that tune wrote"
                " for this device, number of PEs and nodes, else the library's own. Without a table, and for none, a cost"
                " model decides."),
        Setting("PENNYMPI_ALL_GATHER", "auto", _name, "auto, or an algorithm's name",
                "The AllGather algorithm that runs for algorithm=\"auto\"."),
        Setting("PENNYMPI_REDUCE_SCATTER", "auto", _name, "auto, or an algorithm's name",
                "The ReduceScatter algorithm that runs for algorithm=\"auto\"."),
        Setting("PENNYMPI_BROADCAST", "auto", _name, "auto, or an algorithm's name",
                "The Broadcast algorithm that runs for algorithm=\"auto\"."),
        Setting("PENNYMPI_REDUCE", "auto", _name, "auto, or an algorithm's name",
                "The Reduce algorithm that runs for algorithm=\"auto\"."),
        Setting("PENNYMPI_ALL_TO_ALL", "auto", _name, "auto, or an algorithm's name",
                "The all-to-all algorithm that runs for algorithm=\"auto\"."),
        Setting("PENNYMPI_PUT_KERNEL_MAX_BYTES", "262144", _bytes, "bytes with an optional k, m or g; 0 for no kernel",
                "The largest put on a stream that a kernel of the library carries out; larger ones use NVSHMEM's host"
                " call."),
        Setting("PENNYMPI_DEBUG", "0", _switch, "0 or 1",
                "1 compares the calls of all PEs before each collective and raises CollectiveMismatchError if they"
                " differ."),
    )
}  # fmt: skip


def setting(name: str) -> Any:
    """The value of the variable ``name``, or its default if it is unset or empty.

    Raises SettingError for a wrong value, KeyError for an unknown name.
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
    try:
        return (Path(base) if base else Path.home() / ".cache") / "pennympi"
    except RuntimeError:  # HOME is not set, and the system doesn't know the user
        return Path(os.devnull, "no home folder")  # which can't be made: whoever writes to it says so


_warned = False


def warn_unknown() -> None:
    """Warn, once in a process, of unknown variables that begin with PENNYMPI_: they may be misspelt."""
    global _warned
    unknown = sorted(name for name in os.environ if name.startswith(PREFIX) and name not in SETTINGS)
    if _warned or not unknown:
        return
    _warned = True
    hints, known = [], [name.removeprefix(PREFIX) for name in SETTINGS]
    for name in unknown:
        close = difflib.get_close_matches(name.removeprefix(PREFIX), known, n=1)
        hints.append(f"{name} (did you mean {PREFIX}{close[0]}?)" if close else name)
    warnings.warn(
        f"these are no settings of pennympi and have no effect: {', '.join(hints)}; see docs/settings.md", stacklevel=2
    )


def page() -> str:
    """docs/settings.md, as Markdown."""
    lines = [
        "# Settings",
        "",
        "Made by `python -m pennympi.settings`; the table is in `pennympi/settings.py`.",
        "Set them to the same value on every rank of a job, before the program starts.",
        "",
        "| variable | default | value | meaning |",
        "|---|---|---|---|",
    ]
    lines += [f"| `{row.name}` | {row.default} | {row.form} | {row.meaning} |" for row in SETTINGS.values()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
