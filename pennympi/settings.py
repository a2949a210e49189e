"""Every environment variable of the library, in one table.

``setting(name)`` reads one variable.  ``python -m pennympi.settings`` prints docs/settings.md.
"""

from __future__ import annotations

import difflib
import importlib
import os
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from .errors import PennympiError
from .units import bytes_of

PREFIX = "PENNYMPI_"
LEAST_HEAP_BYTES, MOST_BYTES = 4096, 1 << 46  # of a heap; 64 TiB is more than a machine has
LEAST_TIMEOUT_S, MOST_TIMEOUT_S = 1e-3, 1e6  # a kernel counts it in ns
COLLECTIVES = (
    "allreduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "all_gatherv", "reduce_scatterv",
    "all_to_allv",
)  # fmt: skip
_BYTES_FORM = "bytes with an optional k, m or g, up to 65536g"


class SettingError(PennympiError, ValueError):
    """An environment variable of the library has a wrong value, or another one on another PE."""


def _seconds(text: str) -> float:
    value = float(_matching(r"(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", text))
    if value and not LEAST_TIMEOUT_S <= value <= MOST_TIMEOUT_S:
        raise ValueError
    return value


def _matching(form: str, text: str) -> str:
    """``text`` if it has this form; int() and float() alone take 1_000, nan, and the digits of any script."""
    if not re.fullmatch(form, text, re.ASCII | re.IGNORECASE):
        raise ValueError
    return text


def _switch(text: str) -> bool:
    return {"0": False, "1": True}[text]


def _auto_or_never(text: str) -> bool:
    return {"auto": True, "0": False}[text.lower()]


def _heap_bytes(text: str) -> int | None:
    if text.lower() == "auto":
        return None
    if not LEAST_HEAP_BYTES <= (value := bytes_of(text)) <= MOST_BYTES:
        raise ValueError
    return value


def _auto_or_bytes(text: str) -> int | None:
    return None if text.lower() == "auto" else int(bytes_of(text))


def _one_of(*words: str) -> Callable[[str], str]:
    return lambda text: words[words.index(text.lower())]


def _folder(text: str) -> Path:
    return Path(text).expanduser()


def _word_or_none(text: str) -> str | None:
    return None if text.lower() == "none" else _matching(r"[\w-]{1,40}", text)


def _file_or_name(text: str) -> str:
    Path(text).expanduser()  # raises RuntimeError for a user that there is not
    return text


def _algorithms(text: str) -> dict[str, str]:
    """{collective: algorithm} of a list such as "allreduce:ring,all_gather:direct"."""
    chosen: dict[str, str] = {}
    for part in () if text.lower() == "none" else text.lower().split(","):
        collective, _, name = (word.strip() for word in part.partition(":"))
        if collective not in COLLECTIVES:
            raise SettingError(
                f"{shown(part)} names no collective: write COLLECTIVE:ALGORITHM, of {', '.join(COLLECTIVES)}"
            )
        if collective in chosen:
            raise SettingError(f"{collective} is named twice")
        module = importlib.import_module(f".kernels.{collective}", __package__)
        names = [*module.TABLE, *getattr(module, "PLANNED", ())]
        if name not in names:
            raise SettingError(f"algorithm {shown(name)} of {collective} is unknown: use one of {', '.join(names)}")
        chosen[collective] = name
    return chosen


def shown(value: Any) -> str:
    """A wrong value as a message quotes it, at most about 80 characters long."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:60]}... ({len(text)} characters)"


@dataclass(frozen=True)
class Setting:
    """One variable.

    form: of its value, in words;  meaning: Markdown for the page
    alike: ``init`` compares the values of all PEs, which must be the same
    """

    name: str
    default: str
    parse: Callable[[str], Any]
    form: str
    meaning: str
    alike: bool = True


SETTINGS = {
    one.name: one
    for one in (
        Setting("PENNYMPI_BACKEND", "auto", _one_of("auto", "host", "cuda"), "auto, host or cuda",
                "Where the symmetric heap is and the kernels run; auto is cuda if every PE has a device and its"
                " libraries, else host."),
        Setting("PENNYMPI_TIMEOUT_S", "60", _seconds, "seconds from 0.001 to 1000000; 0 means never",
                "How long a wait for another PE may last without a sign of life of that PE (a call on any team); then the"
                " wait ends in PeerTimeout. A PE that keeps making calls is waited for without end, because it may be"
                " late only. Nodes send one another their PEs' signs twice a second."),
        Setting("PENNYMPI_SYMMETRIC_SIZE", "auto", _heap_bytes, f"auto, or at least {LEAST_HEAP_BYTES} {_BYTES_FORM}",
                "Size of the symmetric heap of one PE. On the host backend each team has its own heap, and auto is the"
                " smaller of 1 GiB and half of the free shared memory divided by the PEs of the node. On the cuda backend"
                " all teams share the heap of the first team, and a team of all its PEs makes it larger when it is full;"
                " auto is the smaller of 2 GiB and half of the device's free memory divided by the PEs that use it."),
        Setting("PENNYMPI_HEAP", "auto", _one_of("auto", "device", "host"), "auto, device or host",
                "Where the symmetric heap of the cuda backend lies: in the devices' memory, which NVSHMEM gives, or in"
                " the node's memory, which all its GPUs reach over PCIe; auto is host if the PEs are on one node and a"
                " GPU can't reach another's memory."),
        Setting("PENNYMPI_FORCE_NVSHMEM_PUT", "0", _switch, "0 or 1",
                "1 sends every put through NVSHMEM's device call, even where a pointer reaches the peer."),
        Setting("PENNYMPI_MULTICAST", "auto", _auto_or_never, "auto, or 0 for never",
                "Whether the NVSwitch may reduce and multicast (NVLink SHARP); auto uses it if NVSHMEM has mapped its"
                " heap for multicast (it does not with NVSHMEM_DISABLE_NVLS=1)."),
        Setting("PENNYMPI_PACKETS", "auto", _auto_or_never, "auto, or 0 for never",
                "Whether messages may be packets, 128-byte lines that links must deliver whole (NCCL's LL128); auto sends"
                " them if every peer is on the same device or on NVLink, 0 on any PE turns them off for its team.",
                alike=False),
        Setting("PENNYMPI_CACHE_DIR", "$XDG_CACHE_HOME/pennympi or ~/.cache/pennympi", _folder, "a folder",
                "Where compiled kernels are kept between runs. It must be yours and no other user may"
                " write to it; it is made with mode 0700. Where it can't be used, every run compiles anew, and one"
                " warning says why. It may be removed at any time.", alike=False),
        Setting("PENNYMPI_DATA_DIR", "$XDG_DATA_HOME/pennympi or ~/.local/share/pennympi", _folder, "a folder",
                "Where `python -m pennympi tune` writes its tables, in the folder `tuned`, and every run looks for them.",
                alike=False),
        Setting("PENNYMPI_TOPOLOGY", "auto", _file_or_name,
                "auto, N-nodes-of-M (two-nodes-of-eight, 4-nodes-of-4) or a TOML file",
                "The nodes and rails that algorithms see; auto asks the system and the hardware. `python -m pennympi"
                " topology` prints them.", alike=False),
        Setting("PENNYMPI_NODE", "none", _word_or_none, "none, or a word of letters, digits, _ and -",
                "Added to the host's name: PEs with different words share no memory, as if they were on different hosts."
                " It is for trying several hosts on one; host backend only.", alike=False),
        Setting("PENNYMPI_ALGORITHM", "none", _algorithms, "none, or such as allreduce:ring,all_gather:direct",
                "The algorithms that run for algorithm=\"auto\", one for each collective that is named."),
        Setting("PENNYMPI_TUNED", "auto", _file_or_name, "auto, none, or a TOML file of `python -m pennympi tune`",
                "The table of measured times by which AllReduce algorithms are chosen; auto is the table that tune wrote"
                " for this device, number of PEs and nodes, else the library's own. A file that is named must be for the"
                " device, PEs and nodes of the team of all ranks, whose PE 0 reads it. Without a table, and for none, a"
                " cost model decides."),
        Setting("PENNYMPI_COMM_FROM_BYTES", "auto", _auto_or_bytes, "auto, or bytes with an optional k, m or g",
                "From which size of a message in memory of the host `pennympi.Comm` takes its team, not MPI; auto is a"
                " table by collective."),
        Setting("PENNYMPI_EXIT_HOOKS", "1", _switch, "0 or 1",
                "0 leaves sys.excepthook, threading.excepthook and the end of the program as they are, for programs that"
                " end a job by their own means when a PE raises or leaves early."),
        Setting("PENNYMPI_DEBUG", "0", _switch, "0 or 1",
                "1 compares the calls of all PEs before anything is sent, and a loop's value after it, and raises"
                " CollectiveMismatchError on all of them if they differ."),
    )
}  # fmt: skip

_USERS = {"PENNYMPI_CACHE_DIR": platformdirs.user_cache_path, "PENNYMPI_DATA_DIR": platformdirs.user_data_path}


def setting(name: str) -> Any:
    """The value of the variable ``name``, or its default if it is unset or empty.

    Raises SettingError for a wrong value, KeyError for an unknown name.
    """
    variable = SETTINGS[name]
    text = os.environ.get(name, "")
    if not text:
        return _users_folder(_USERS[name]) if name in _USERS else variable.parse(variable.default)
    try:
        return variable.parse(_matching(r".*\S.*", text.strip()))
    except (ValueError, KeyError, RuntimeError) as error:
        advice = str(error) if isinstance(error, SettingError | RuntimeError) else f"give {variable.form}"
        raise SettingError(
            f"{name}={shown(text)} cannot be used: {advice}, or unset it for the default ({variable.default})"
        ) from None


def algorithm_for(collective: str) -> str:
    """The algorithm that PENNYMPI_ALGORITHM names for a collective, or "auto".  Raises SettingError."""
    return str(setting("PENNYMPI_ALGORITHM").get(collective, "auto"))


def given() -> dict[str, tuple[Any, str]]:
    """{name: (value, text)} of the settings that are set here and must be alike on all PEs.

    Raises SettingError for the first setting, of these or others, that is wrong.
    """
    found = {name: setting(name) for name in SETTINGS}
    texts = {name: os.environ.get(name, "").strip() for name, one in SETTINGS.items() if one.alike}
    return {name: (found[name], text) for name, text in texts.items() if text}


def differing(of_pes: Sequence[Mapping[str, tuple[Any, str]]]) -> str:
    """Which setting two PEs have set differently, in a sentence, or "" if they agree.  of_pes: ``given`` of each PE"""
    for name in sorted(set().union(*of_pes)):
        default = (SETTINGS[name].parse(SETTINGS[name].default), SETTINGS[name].default)
        found = [one.get(name, default) for one in of_pes]
        other = next((pe for pe, (value, _) in enumerate(found) if value != found[0][0]), None)
        if other is not None:
            return (
                f"{name} is {found[0][1][:60]} on PE 0 and {found[other][1][:60]} on PE {other}: set it to the same "
                f"value on every rank (mpirun -x {name} of Open MPI, mpirun -genv {name} VALUE of MPICH)"
            )
    return ""


def _users_folder(of: Callable[[str], Path]) -> Path:
    try:
        found = of("pennympi")
    except RuntimeError:  # HOME is not set, and the system doesn't know the user; other versions return "~/..." then
        found = Path()
    # A folder that can't be made, so that the error of an attempt to write there names the reason.
    return found if found.is_absolute() else Path(os.devnull, "no home folder")


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
    own = [f"`{one.name}`" for one in SETTINGS.values() if not one.alike]
    lines = [
        "# Settings",
        "",
        "Made by `python -m pennympi.settings`; the table is in `pennympi/settings.py`.",
        "Set them to the same value on every rank of a job, before the program starts. `init` checks them all, and",
        f"compares them between its PEs except {', '.join(own)}; of topologies it compares the layouts.",
        "",
        "| variable | default | value | meaning |",
        "|---|---|---|---|",
    ]
    lines += [f"| `{one.name}` | {one.default} | {one.form} | {one.meaning} |" for one in SETTINGS.values()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if sys.argv[1:]:
        sys.exit("python -m pennympi.settings prints docs/settings.md and takes no arguments")
    print(page(), end="")
