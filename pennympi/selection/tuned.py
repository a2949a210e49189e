"""Measured tables: which algorithm took how long, on one machine, in a TOML file.

Written by ``python -m pennympi tune``; found by the device, the number of PEs and
how they lie on nodes.  Looked for in the file that PENNYMPI_TUNED names, then in
the cache folder, then among the tables that come with the library.
"""

import math
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..arrays.dtypes import TABLE as DTYPES
from ..kernels.algorithm import Place
from ..settings import setting

SHIPPED = Path(__file__).parent / "measured"


@dataclass(frozen=True)
class Series:
    """Times of the algorithms of a collective for one dtype.

    bytes: rising sizes;  us: {algorithm: a time for each size, nan where it was not measured}
    """

    collective: str
    dtype: str
    bytes: tuple[int, ...]
    us: Mapping[str, tuple[float, ...]]

    def at(self, nbytes: int) -> dict[str, float]:
        """{algorithm: us} for a size, between two sizes by the logarithms of both.

        An algorithm is judged between sizes at which it was measured.  Where that leaves none,
        by the next larger size, else by the next smaller one.  Beyond the largest size time grows like bytes.
        """
        above = next((i for i, size in enumerate(self.bytes) if size >= nbytes), len(self.bytes))
        if above == len(self.bytes):
            return {name: us * nbytes / self.bytes[-1] for name, us in self._measured(-1).items()}
        if above == 0 or self.bytes[above] == nbytes:
            return self._measured(above)
        low, high = self._measured(above - 1), self._measured(above)
        share = math.log(nbytes / self.bytes[above - 1]) / math.log(self.bytes[above] / self.bytes[above - 1])
        both = {name: low[name] ** (1 - share) * high[name] ** share for name in high if name in low}
        return both or high or low

    def _measured(self, i: int) -> dict[str, float]:
        return {name: us[i] for name, us in self.us.items() if not math.isnan(us[i])}


@dataclass(frozen=True)
class Tuned:
    """One file.  device, pes, topology: what it is for;  note: when and by what;  source: where it was found."""

    device: str
    pes: int
    topology: str
    note: str
    series: tuple[Series, ...]
    source: str = ""

    def times(self, collective: str, dtype: str, nbytes: int) -> dict[str, float]:
        """{algorithm: us}, by the measured dtype that is most like ``dtype``; {} where there is none."""
        wanted = DTYPES[dtype]

        def unlike(one: Series) -> tuple[bool, int, bool]:
            row = DTYPES[one.dtype]
            return (one.dtype != dtype, abs(row.item_bytes - wanted.item_bytes), row.acc_bytes != wanted.acc_bytes)

        fitting = [one for one in self.series if one.collective == collective]
        return min(fitting, key=unlike).at(nbytes) if fitting else {}


def topology_of(place: Place) -> str:
    """How PEs lie on nodes and what their links can do, in a word: "1x4", "2x8+puts"."""
    sizes = [len(pes) for pes in place.nodes]
    alike = len(set(sizes)) == 1
    word = f"{len(sizes)}x{sizes[0]}" if alike else "+".join(map(str, sizes))
    return word + ("" if place.ll128_safe else "+puts") + ("+multicast" if place.multicast else "")


def file_name(device: str, place: Place) -> str:
    """Of the table for a device and a place."""
    slug = "".join(c if c.isalnum() else "-" for c in device.lower()).strip("-")
    return f"{slug}.{place.n_pes}.{topology_of(place)}.toml"


def user_file(device: str, place: Place) -> Path:
    """Where ``tune`` writes when nobody says."""
    return Path(setting("PENNYMPI_CACHE_DIR")) / "tuned" / file_name(device, place)


def find(device: str, place: Place) -> Tuned | None:
    """The table for this machine, or None.  Raises ValueError for a file that is not one, OSError."""
    named = setting("PENNYMPI_TUNED")
    if named == "none":
        return None
    if named != "auto":
        return parse(Path(named).expanduser().read_text(), named)
    name = file_name(device, place)
    for path in (user_file(device, place), SHIPPED / name):
        if path.exists():
            return parse(path.read_text(), str(path) if path.parent != SHIPPED else f"the library's {name}")
    return None


def parse(text: str, source: str) -> Tuned:
    """A file's text.  Raises ValueError naming ``source``."""
    try:
        data = tomllib.loads(text)
        series = tuple(_series(one) for one in data["measured"])
        return Tuned(data["device"], data["pes"], data["topology"], data.get("note", ""), series, source)
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{source} is not a table of `python -m pennympi tune` ({type(error).__name__}: {error}): "
            "remove it, or make it anew"
        ) from None


def _series(data: dict[str, Any]) -> Series:
    sizes = tuple(int(size) for size in data["bytes"])
    us = {name: tuple(float(one) for one in times) for name, times in data["us"].items()}
    if not sizes or list(sizes) != sorted(set(sizes)) or any(len(times) != len(sizes) for times in us.values()):
        raise ValueError("sizes do not rise, or a time is missing")
    if data["dtype"] not in DTYPES or any(time <= 0 for times in us.values() for time in times):
        raise ValueError("a dtype is unknown, or a time is not positive")
    return Series(data["collective"], data["dtype"], sizes, us)


def text_of(tuned: Tuned) -> str:
    """The file's text."""
    lines = [
        f"# Microseconds of one call; read by pennympi.init(). {tuned.note}",
        f"device = {_string(tuned.device)}",
        f"pes = {tuned.pes}",
        f"topology = {_string(tuned.topology)}",
        f"note = {_string(tuned.note)}",
    ]
    for one in tuned.series:
        lines += ["", "[[measured]]", f"collective = {_string(one.collective)}", f"dtype = {_string(one.dtype)}"]
        lines += [f"bytes = {_list(one.bytes)}", "[measured.us]"]
        lines += [
            f"{name} = {_list(f'{us:.4g}' if us < 1e4 else f'{us:.0f}' for us in times)}"
            for name, times in one.us.items()
        ]
    return "\n".join(lines) + "\n"


def _string(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _list(items: Iterable[Any]) -> str:
    return "[" + ", ".join(map(str, items)) + "]"


def write(tuned: Tuned, path: Path) -> None:
    """Write the file, whole or not at all.  Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_text(text_of(tuned))
    os.replace(part, path)
