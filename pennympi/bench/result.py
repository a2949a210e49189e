"""The result of a run, and its JSON file."""

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ..files import write_whole

VERSION = 3  # version of the file format


@dataclass(frozen=True)
class Row:
    """The measurement of an implementation at a size, in place or out of place.

    size_bytes, count: as in nccl-tests;  algbw, busbw: in GB/s (1e9 bytes per second)
    median_us, p99_us, least_us: time of a call on the slowest PE: median, 99th percentile and minimum
    mode:  "graph", "eager" or "host";  wrong: number of wrong elements on all PEs
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
    p99_us: float
    least_us: float
    algbw: float
    busbw: float
    wrong: int


@dataclass
class Result:
    """All rows of a run.

    facts:    {name: value} about the machine and the libraries;  options: options of the command
    host_us:  {implementation: host time of an asynchronous call at the smallest size}
    refused:  {implementation: reason why it was left out}
    """

    facts: dict[str, Any]
    options: dict[str, Any]
    rows: list[Row] = field(default_factory=list)
    host_us: dict[str, float] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """Write the file as a whole or not at all.  Raises FileError."""
        write_whole(path, json.dumps({"version": VERSION} | asdict(self), indent=1) + "\n")

    def groups(self) -> list["Result"]:
        """A result for each dtype and op, in order."""
        kinds = dict.fromkeys((row.dtype, row.op) for row in self.rows)
        return [replace(self, rows=[r for r in self.rows if (r.dtype, r.op) == kind]) for kind in kinds]

    def implementations(self) -> list[str]:
        """Names of the implementations, in the order in which they were measured."""
        return list(dict.fromkeys(row.implementation for row in self.rows))

    def series(self, implementation: str) -> dict[int, Row]:
        """{size in bytes: row} of an implementation in a group: the out-of-place row, or else the in-place row."""
        own = [row for row in self.rows if row.implementation == implementation]
        return {row.size_bytes: row for row in sorted(own, key=lambda row: (row.size_bytes, not row.in_place))}


def read(path: Path) -> Result:
    """The result in a file of ``Result.write``.  Raises ValueError for another version of the format."""
    data = json.loads(path.read_text())
    if data.pop("version") != VERSION:
        raise ValueError(f"{path} is a result of another version of pennympi: measure again")
    return Result(**data | {"rows": [Row(**row) for row in data["rows"]]})
