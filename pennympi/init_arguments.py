"""What a process asks ``init`` for: its settings and arguments, checked alone and then compared with the other PEs'."""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from .annotations import BackendName
from .errors import PennympiError
from .selection.find import named_table
from .settings import LEAST_HEAP_BYTES, MOST_BYTES, SettingError, differing, given, setting, shown
from .topology.layout import Layout
from .topology.topology import check_layouts, layout_of
from .units import size_text

MOST_SMS = 1 << 16


@dataclass(frozen=True)
class InitArguments:
    """What one process asks for.

    error:     what is wrong with it;  settings: see ``settings.given``
    timeout_s: PENNYMPI_TIMEOUT_S, or its default if that is wrong
    """

    error: Exception | None = None
    settings: Mapping[str, tuple[Any, str]] = field(default_factory=dict)
    timeout_s: float = 60.0
    backend: str = "auto"
    heap_bytes: int | None = None
    sms: int | None = None
    layout: Layout | None = None


def read(me: int, n_pes: int, backend: Any, heap_bytes: Any, topology: Any, sms: Any) -> InitArguments:
    """What PE ``me`` of ``n_pes`` asks for, by its environment and the arguments of ``init``.  Raises nothing."""
    try:
        settings = given()
        if backend not in get_args(BackendName):
            raise ValueError(f"backend {shown(backend)} is unknown: use 'auto', 'host' or 'cuda'")
        heap_bytes = _whole("heap_bytes", heap_bytes, LEAST_HEAP_BYTES, MOST_BYTES)
        sms = _whole("sms", sms, 1, MOST_SMS)
        layout = layout_of(topology, n_pes)
        if me == 0:
            named_table()
    except (PennympiError, TypeError, ValueError) as error:
        return InitArguments(error)
    named = setting("PENNYMPI_BACKEND") if backend == "auto" else backend
    return InitArguments(None, settings, setting("PENNYMPI_TIMEOUT_S"), named, heap_bytes, sms, layout)


def _whole(name: str, value: Any, least: int, most: int) -> int | None:
    """An argument that is None or an int, in its range."""
    if value is None:
        return None
    try:
        if isinstance(value, bool):
            raise TypeError
        whole = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} {shown(value)} is not an int: give {_allowed(name, least, most)}, or None") from None
    if not least <= whole <= most:
        wrong = "is not positive" if whole < 1 else "is out of range"
        raise ValueError(f"{name} {shown(value)} {wrong}: give {_allowed(name, least, most)}, or None")
    return whole


def _allowed(name: str, least: int, most: int) -> str:
    """The range of an argument, in words."""
    if name.endswith("_bytes"):
        return f"a number of bytes from {least} ({size_text(least)}) to {most} ({size_text(most)})"
    return f"a number from {least} to {most}"


def agree(asked: Sequence[InitArguments]) -> None:
    """Raise the same error on every PE if what one asks for is wrong, or what two ask for differs.

    asked: of all PEs, in order
    """
    for pe, one in enumerate(asked):
        if one.error is not None:
            raise type(one.error)(f"PE {pe}: {one.error}") if pe else one.error
    if reason := differing([one.settings for one in asked]):
        raise SettingError(reason)
    for name in ("backend", "heap_bytes", "sms"):
        of_pes = [getattr(one, name) for one in asked]
        other = next((pe for pe, value in enumerate(of_pes) if value != of_pes[0]), None)
        if other is not None:
            raise ValueError(
                f"{name} is {of_pes[0]!r} on PE 0 and {of_pes[other]!r} on PE {other}: "
                f"give init the same {name} on every PE"
            )
    check_layouts([one.layout for one in asked])
