"""The result of a run, and its JSON file."""

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ..files import FileError, read_text, write_whole

VERSION = 2  # of the file format


@dataclass(frozen=True)
class Row:
    """One implementation and size, in place or out of place.

    size_bytes, count: as in nccl-tests;  algbw, busbw: in GB/s (1e9 bytes per second)
    median_us, p99_us, least_us: time of a call on the slowest PE: median, 99th percentile and minimum
    mode:  "graph", "eager" or "host";  wrong: number of wrong elements, on all PEs together
    """

    collective: str
    implementation: str
    dtype: str
    op: str
    size_bytes: int
    count: int
    in_place: bool
    mode: str
    median_us: float
    p99_us: float | None
    least_us: float | None
    algbw: float
    busbw: float
    wrong: int


@dataclass(frozen=True)
class Floor:
    """What no call can be faster than: on a GPU a launch of a kernel that does nothing, in a CUDA graph; a hop to the
    partner; and bytes at the rate of a link while as much comes the other way."""

    launch_us: float
    hop_us: float
    gb_per_s: float

    def us(self, row: Row) -> float:
        """Of one call."""
        return self.launch_us + self.hop_us + row.size_bytes * row.busbw / row.algbw / self.gb_per_s / 1e3


@dataclass
class Result:
    """All rows of one run.

    facts:    of the machine and the libraries;  options: of the command
    host_us:  {implementation: host time of one asynchronous call at the smallest size}
    refused:  {implementation: why it was left out}
    floor:    as measured in this run, None if it was not asked for
    accuracy: the rows of ``accuracy.measure``
    """

    facts: dict[str, Any]
    options: dict[str, Any]
    rows: list[Row] = field(default_factory=list)
    host_us: dict[str, float] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    floor: Floor | None = None
    accuracy: list[dict[str, Any]] = field(default_factory=list)

    def write(self, path: Path) -> None:
        """Write the file as a whole or not at all.  Raises FileError."""
        write_whole(path, json.dumps({"version": VERSION} | asdict(self), indent=1) + "\n")

    def groups(self) -> list["Result"]:
        """One result for each dtype and op, in order."""
        kinds = dict.fromkeys((row.dtype, row.op) for row in self.rows)
        return [replace(self, rows=[r for r in self.rows if (r.dtype, r.op) == kind]) for kind in kinds]

    def implementations(self) -> list[str]:
        """Names of the implementations, in the order in which they were measured."""
        return list(dict.fromkeys(row.implementation for row in self.rows))

    def series(self, implementation: str) -> dict[int, Row]:
        """{size in bytes: row} of one implementation in a group: the out-of-place row if there is one, else the other."""
        own = [row for row in self.rows if row.implementation == implementation]
        return {row.size_bytes: row for row in sorted(own, key=lambda row: (row.size_bytes, not row.in_place))}


def read(path: Path) -> Result:
    """The result in a file that ``write`` wrote.  Raises FileError for any other."""
    text = read_text(path)
    try:
        data = json.loads(text)
        if data.pop("version", None) != VERSION:
            raise ValueError("another version")
        floor = data.get("floor")
        parsed = {"rows": [Row(**row) for row in data["rows"]], "floor": Floor(**floor) if floor else None}
        return Result(**data | parsed)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        what = "is not a result of this version of `python -m pennympi bench --output`"
        raise FileError(f"{path} {what}: {error}") from None
