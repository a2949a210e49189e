"""Every environment variable of the library, in one table.  docs/settings.md explains them."""

import difflib
import importlib
import os
import re
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import platformdirs

from .errors import PennympiError
from .units import bytes_of

LEAST_HEAP_BYTES, MOST_BYTES = 4096, 1 << 46  # sizes of a heap; 64 TiB is more memory than a machine has
LEAST_TIMEOUT_S, MOST_TIMEOUT_S = 1e-3, 1e6  # kernels count it in ns
COLLECTIVES = (
    "allreduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "all_gatherv", "reduce_scatterv",
    "all_to_allv",
)  # fmt: skip
_BYTES_FORM = "bytes with an optional k, m or g, up to 65536g"


class SettingError(PennympiError, ValueError):
    """An environment variable of the library has a wrong value, or different values on two PEs."""


def _seconds(text: str) -> float:
    value = float(_matching(r"(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", text))
    if value and not LEAST_TIMEOUT_S <= value <= MOST_TIMEOUT_S:
        raise ValueError
    return value


def _matching(form: str, text: str) -> str:
    """``text`` if it has this form, since int() and float() also accept 1_000, nan, and the digits of any script."""
    if not re.fullmatch(form, text, re.ASCII | re.IGNORECASE):
        raise ValueError
    return text


def _auto_or_bytes(least: int) -> Callable[[str], int | None]:
    def parse(text: str) -> int | None:
        if text.lower() == "auto":
            return None
        if not least <= (value := bytes_of(text)) <= MOST_BYTES:
            raise ValueError
        return value

    return parse


def _one_of(*words: str, values: Sequence[Any] = ()) -> Callable[[str], Any]:
    return lambda text: (values or words)[words.index(text.lower())]


def _folder(text: str) -> Path:
    return Path(text).expanduser()


def _word_or_none(text: str) -> str | None:
    return None if text.lower() == "none" else _matching(r"[\w-]{1,40}", text)


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
    """A wrong value as quoted in messages, at most about 80 characters long."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:60]}... ({len(text)} characters)"


_switch = _one_of("0", "1", values=(False, True))
_auto_or_never = _one_of("auto", "0", values=(True, False))


class Setting(NamedTuple):
    """A variable.

    form:  form of its value, as text
    alike: ``init`` compares the values of all PEs, which must be equal
    """

    default: str
    parse: Callable[[str], Any]
    form: str
    alike: bool = True


SETTINGS = {
    "PENNYMPI_BACKEND": Setting("auto", _one_of("auto", "host", "cuda"), "auto, host or cuda"),
    "PENNYMPI_TIMEOUT_S": Setting("60", _seconds, "seconds from 0.001 to 1000000; 0 means never"),
    "PENNYMPI_SYMMETRIC_SIZE": Setting(
        "auto", _auto_or_bytes(LEAST_HEAP_BYTES), f"auto, or at least {LEAST_HEAP_BYTES} {_BYTES_FORM}"
    ),
    "PENNYMPI_HEAP": Setting("auto", _one_of("auto", "device", "host"), "auto, device or host"),
    "PENNYMPI_FORCE_NVSHMEM_PUT": Setting("0", _switch, "0 or 1"),
    "PENNYMPI_MULTICAST": Setting("auto", _auto_or_never, "auto, or 0 for never"),
    "PENNYMPI_PACKETS": Setting("auto", _auto_or_never, "auto, or 0 for never", alike=False),
    "PENNYMPI_CACHE_DIR": Setting("pennympi in $XDG_CACHE_HOME or ~/.cache", _folder, "a folder", alike=False),
    "PENNYMPI_TOPOLOGY": Setting(
        "auto", str, "auto, N-nodes-of-M (two-nodes-of-eight, 4-nodes-of-4) or a TOML file", alike=False
    ),
    "PENNYMPI_NODE": Setting("none", _word_or_none, "none, or a word of letters, digits, _ and -", alike=False),
    "PENNYMPI_ALGORITHM": Setting("none", _algorithms, "none, or such as allreduce:ring"),
    "PENNYMPI_TUNED": Setting("auto", _one_of("auto", "none", values=(True, False)), "auto or none"),
    "PENNYMPI_COMM_FROM_BYTES": Setting("auto", _auto_or_bytes(0), f"auto, or {_BYTES_FORM}"),
    "PENNYMPI_LOG": Setting("none", _one_of("none", "comm"), "none or comm", alike=False),
    "PENNYMPI_EXIT_HOOKS": Setting("1", _switch, "0 or 1"),
    "PENNYMPI_DEBUG": Setting("0", _switch, "0 or 1"),
}


def setting(name: str) -> Any:
    """The value of the variable ``name``, or its default if it is unset or empty.

    Raises SettingError for a wrong value, KeyError for an unknown name.
    """
    variable = SETTINGS[name]
    text = os.environ.get(name, "")
    if not text:
        if name == "PENNYMPI_CACHE_DIR":
            return users_folder(platformdirs.user_cache_path)
        return variable.parse(variable.default)
    try:
        return variable.parse(_matching(r".*\S.*", text.strip()))
    except (ValueError, RuntimeError) as error:
        advice = str(error) if isinstance(error, SettingError | RuntimeError) else f"give {variable.form}"
        raise SettingError(
            f"{name}={shown(text)} cannot be used: {advice}, or unset it for the default ({variable.default})"
        ) from None


def algorithm_for(collective: str) -> str:
    """The algorithm that PENNYMPI_ALGORITHM names for a collective, or "auto".  Raises SettingError."""
    return str(setting("PENNYMPI_ALGORITHM").get(collective, "auto"))


def checked_settings() -> dict[str, tuple[Any, str]]:
    """{name: (value, text)} of the settings that must be alike on all PEs.

    Raises SettingError for the first wrong setting, alike or not.
    """
    values = {name: setting(name) for name in SETTINGS}
    alike = {name: variable for name, variable in SETTINGS.items() if variable.alike}
    texts = {name: os.environ.get(name, "").strip() or variable.default for name, variable in alike.items()}
    return {name: (values[name], text) for name, text in texts.items()}


def users_folder(path_of: Callable[[str], Path]) -> Path:
    """This library's folder by a function of platformdirs."""
    try:
        folder = path_of("pennympi")
    except RuntimeError:  # HOME is not set, and the system does not know the user; other versions return "~/..."
        folder = Path()
    # A folder that can't be made, so that the error of an attempt to write names the reason.
    return folder if folder.is_absolute() else Path(os.devnull, "no home folder")


@cache
def warn_unknown() -> None:
    """Warn, once in a process, about unknown variables that begin with PENNYMPI_, since they may be misspelt."""
    hints = []
    for name in sorted(os.environ):
        if name.startswith("PENNYMPI_") and name not in SETTINGS:
            close = difflib.get_close_matches(name, SETTINGS, n=1)
            hints.append(f"{name} (did you mean {close[0]}?)" if close else name)
    if hints:
        warnings.warn(
            f"these are no settings of pennympi and have no effect: {', '.join(hints)}; see docs/settings.md",
            stacklevel=2,
        )
