"""The request of a process to ``init``: its settings and arguments, checked alone, then compared among the PEs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from .annotations import BackendName
from .arrays.dtypes import is_int
from .errors import PennympiError, TopologyError
from .job.process import pes_in_words
from .settings import LEAST_HEAP_BYTES, MOST_BYTES, SETTINGS, SettingError, checked_settings, setting, shown
from .topology.layout import Layout
from .topology.topology import layout_of

MOST_SMS = 1 << 16
TOPOLOGY = "PENNYMPI_TOPOLOGY"


@dataclass(frozen=True)
class InitArguments:
    """The settings and arguments of a process.

    error:     the error of a wrong one, or None
    timeout_s: PENNYMPI_TIMEOUT_S, or its default if it is wrong
    alike:     {name: (value, text)} of the arguments and settings that must be the same on every PE
    """

    error: Exception | None = None
    timeout_s: float = 60.0
    backend: str = "auto"
    heap_bytes: int | None = None
    sms: int | None = None
    layout: Layout | None = None
    alike: Mapping[str, tuple[Any, str]] = field(default_factory=dict)


def read(n_pes: int, backend: Any, heap_bytes: Any, topology: Any, sms: Any) -> InitArguments:
    """The request of a PE of ``n_pes`` PEs, by its environment and the arguments of ``init``.  Raises nothing."""
    try:
        settings = checked_settings()
        if backend not in get_args(BackendName):
            raise ValueError(f"backend {shown(backend)} is unknown: use 'auto', 'host' or 'cuda'")
        heap_bytes = _whole("heap_bytes", heap_bytes, LEAST_HEAP_BYTES, MOST_BYTES)
        sms = _whole("sms", sms, 1, MOST_SMS)
        layout, text = _layout(topology, n_pes)
    except (PennympiError, TypeError, ValueError) as error:
        return InitArguments(error)
    backend = setting("PENNYMPI_BACKEND") if backend == "auto" else backend
    arguments = {"backend": backend, "heap_bytes": heap_bytes, "sms": sms}
    alike = settings | {name: (value, repr(value)) for name, value in arguments.items()}
    alike["topology"] = layout and layout[1:], text
    return InitArguments(None, setting("PENNYMPI_TIMEOUT_S"), layout=layout, alike=alike, **arguments)


def _layout(topology: Any, n_pes: int) -> tuple[Layout | None, str]:
    """The layout of this PE's request, and its name, with the variable that named it.  Raises as ``layout_of``."""
    if topology is not None:
        layout = layout_of(topology, n_pes)
        return layout, layout.name if layout else "auto"
    name = setting(TOPOLOGY)
    try:
        return layout_of(name, n_pes), f"{name} ({TOPOLOGY})"
    except TopologyError as error:
        raise TopologyError(f"{TOPOLOGY}: {error}") from None


def _whole(name: str, value: Any, least: int, most: int) -> int | None:
    """An argument that is None or an int in its range.  Raises TypeError, ValueError."""
    if value is None:
        return None
    wanted = f"{name} must be an int from {least} to {most}, or None, got {shown(value)}"
    if not is_int(value):
        raise TypeError(wanted)
    if not least <= value <= most:
        raise ValueError(wanted)
    return int(value)


def agree(requests: Sequence[InitArguments]) -> None:
    """Raise the same error on every PE if a request is wrong, or two requests differ.

    requests: the requests of all PEs, in order
    """
    for pe, request in enumerate(requests):
        if request.error is not None:
            raise type(request.error)(f"PE {pe}: {request.error}") if pe else request.error
    for name in requests[0].alike:
        pes_of: dict[str, list[int]] = {}  # {value: PEs}
        for pe, request in enumerate(requests):
            pes_of.setdefault(repr(request.alike[name][0]), []).append(pe)
        if len(pes_of) > 1:
            raise _difference(name, {value: requests[pes[0]].alike[name][1] for value, pes in pes_of.items()}, pes_of)


def _difference(name: str, texts: Mapping[str, str], pes_of: Mapping[str, Sequence[int]]) -> ValueError:
    """The error for PEs that differ in ``name``.  texts: {value: text};  pes_of: {value: PEs}"""
    if len(set(texts.values())) < len(texts):  # different files have the same name
        texts = {value: f"{text[:40]} of {value}" for value, text in texts.items()}
    values = " and ".join(f"{texts[value][:80]} on {pes_in_words(pes)}" for value, pes in pes_of.items())
    variable = TOPOLOGY if TOPOLOGY in values else name
    if variable not in SETTINGS:
        return ValueError(f"{name} is {values}: pass init the same {name} on every PE, or leave it to a setting")
    return SettingError(
        f"{name} is {values}: set {variable} to the same value on every rank (mpirun -x {variable} of Open MPI, "
        f"mpirun -genv {variable} VALUE of MPICH)"
    )
