"""Tables of measured times: how long each algorithm took on one machine, in a TOML file.

``python -m pennympi tune`` writes them.  A team uses the file that PENNYMPI_TUNED names; else the table for its device,
number of PEs and nodes in the cache folder; else the one among the tables that come with the library.
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

    sizes_bytes: rising;  us: {algorithm: its time in us at each size, nan if not measured}
    """

    collective: str
    dtype: str
    sizes_bytes: tuple[int, ...]
    us: Mapping[str, tuple[float, ...]]

    def at(self, nbytes: int) -> dict[str, float]:
        """{algorithm: us} for a size of ``nbytes``.

        Between two sizes, times are interpolated on logarithms, for the algorithms that were measured at both; if there
        are none, the times at the larger size hold, or else those at the smaller.  Beyond the largest size, times grow
        in proportion to the size.
        """
        above = next((i for i, size in enumerate(self.sizes_bytes) if size >= nbytes), len(self.sizes_bytes))
        if above == len(self.sizes_bytes):
            return {name: us * nbytes / self.sizes_bytes[-1] for name, us in self._measured(-1).items()}
        if above == 0 or self.sizes_bytes[above] == nbytes:
            return self._measured(above)
        low, high = self._measured(above - 1), self._measured(above)
        smaller, larger = self.sizes_bytes[above - 1 : above + 1]
        share = math.log(nbytes / smaller) / math.log(larger / smaller)
        both = {name: low[name] ** (1 - share) * high[name] ** share for name in high if name in low}
        return both or high or low

    def _measured(self, i: int) -> dict[str, float]:
        return {name: us[i] for name, us in self.us.items() if not math.isnan(us[i])}


@dataclass(frozen=True)
class Tuned:
    """One table.

    device, pes, topology: of the machine;  note: when and how it was measured
    source: the file that it was read from, in words
    """

    device: str
    pes: int
    topology: str
    note: str
    series: tuple[Series, ...]
    source: str = ""

    def times(self, collective: str, dtype: str, nbytes: int) -> dict[str, float]:
        """{algorithm: us}, from the measured dtype that is most like ``dtype``; {} if there is none."""
        wanted = DTYPES[dtype]

        def unlike(one: Series) -> tuple[bool, int, bool]:
            row = DTYPES[one.dtype]
            return (one.dtype != dtype, abs(row.item_bytes - wanted.item_bytes), row.acc_bytes != wanted.acc_bytes)

        fitting = [one for one in self.series if one.collective == collective]
        return min(fitting, key=unlike).at(nbytes) if fitting else {}


def topology_of(place: Place) -> str:
    """The nodes of a place and what its links can do, as one word: "1x4", "2x8+puts"."""
    sizes = [len(pes) for pes in place.nodes]
    alike = len(set(sizes)) == 1
    word = f"{len(sizes)}x{sizes[0]}" if alike else "+".join(map(str, sizes))
    return word + ("" if place.ll128_safe else "+puts") + ("+multicast" if place.multicast else "")


def file_name(device: str, place: Place) -> str:
    """The file name of the table for a device and a place."""
    slug = "".join(c if c.isalnum() else "-" for c in device.lower()).strip("-")
    return f"{slug}.{place.n_pes}.{topology_of(place)}.toml"


def user_file(device: str, place: Place) -> Path:
    """The file that ``tune`` writes by default."""
    return Path(setting("PENNYMPI_CACHE_DIR")) / "tuned" / file_name(device, place)


def find(device: str, place: Place) -> Tuned | None:
    """The table for this device and place, or None.  Raises ValueError for a file that is no table, OSError."""
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
    """The table in a file's text.  Raises ValueError, whose message names ``source``."""
    try:
        data = tomllib.loads(text)
        series = tuple(_series(one) for one in data["measured"])
        return Tuned(data["device"], data["pes"], data["topology"], data.get("note", ""), series, source)
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{source} is not a table of `python -m pennympi tune` ({type(error).__name__}: {error}): "
            "remove it, or run tune again"
        ) from None


def _series(data: dict[str, Any]) -> Series:
    sizes = tuple(int(size) for size in data["bytes"])
    us = {name: tuple(float(one) for one in times) for name, times in data["us"].items()}
    if not sizes or list(sizes) != sorted(set(sizes)) or any(len(times) != len(sizes) for times in us.values()):
        raise ValueError("the sizes do not rise, or a time is missing")
    if data["dtype"] not in DTYPES or any(time <= 0 for times in us.values() for time in times):
        raise ValueError("a dtype is unknown, or a time is not positive")
    return Series(data["collective"], data["dtype"], sizes, us)


def text_of(tuned: Tuned) -> str:
    """The text of the file."""
    lines = [
        f"# Microseconds of one call; read by pennympi.init(). {tuned.note}",
        f"device = {_string(tuned.device)}",
        f"pes = {tuned.pes}",
        f"topology = {_string(tuned.topology)}",
        f"note = {_string(tuned.note)}",
    ]
    for one in tuned.series:
        lines += ["", "[[measured]]", f"collective = {_string(one.collective)}", f"dtype = {_string(one.dtype)}"]
        lines += [f"bytes = {_list(one.sizes_bytes)}", "[measured.us]"]
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
    """Write the file as a whole or not at all.  Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_text(text_of(tuned))
    os.replace(part, path)
