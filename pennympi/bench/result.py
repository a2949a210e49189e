"""What a run found, and its JSON file."""

import json
import os
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

VERSION = 1  # of the file's form


@dataclass(frozen=True)
class Row:
    """One contestant, one size, in place or not.

    size_bytes, count: as nccl-tests count them;  times in us;  algbw, busbw in GB/s (1e9)
    mode:  "graph", "eager" or "host";  wrong: elements of all PEs that are not the exact result
    """

    collective: str
    contestant: str
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


@dataclass
class Result:
    """All rows of one run.

    facts:   what it ran on;  options: of the command
    host_us: {contestant: host time of one asynchronous call at the smallest size}
    refused: {contestant: why it was left out}
    rails:   {contestant: bytes out of, and into, the nodes by each rail}, of one call of the largest size
    accuracy: rows of ``accuracy.py``
    """

    facts: dict[str, Any]
    options: dict[str, Any]
    rows: list[Row] = field(default_factory=list)
    host_us: dict[str, float] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    rails: dict[str, list[list[int]]] = field(default_factory=dict)
    accuracy: list[dict[str, Any]] = field(default_factory=list)

    def write(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        part.write_text(json.dumps({"version": VERSION} | asdict(self), indent=1) + "\n")
        os.replace(part, path)

    def groups(self) -> list["Result"]:
        """One result for each dtype and op."""
        kinds = dict.fromkeys((row.dtype, row.op) for row in self.rows)
        return [replace(self, rows=[r for r in self.rows if (r.dtype, r.op) == kind]) for kind in kinds]

    def contestants(self) -> list[str]:
        """Names in the order in which they were measured."""
        return list(dict.fromkeys(row.contestant for row in self.rows))

    def series(self, contestant: str) -> dict[int, Row]:
        """{bytes: row} of one contestant in a group: out of place, or in place where there is no such row."""
        own = [row for row in self.rows if row.contestant == contestant]
        return {row.size_bytes: row for row in sorted(own, key=lambda row: (row.size_bytes, not row.in_place))}


def read(path: Path) -> Result:
    """The result in a file of ``write``.  Raises ValueError for another form."""
    data = json.loads(path.read_text())
    if data.pop("version", None) != VERSION:
        raise ValueError(f"{path} is not a result of this version of `python -m pennympi bench --output`")
    return Result(**data | {"rows": [Row(**row) for row in data["rows"]]})
