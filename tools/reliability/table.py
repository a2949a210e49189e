"""All rows of the scorecard, by number."""

from __future__ import annotations

from . import (
    arithmetic,
    cache_damage,
    faults,
    hosts,
    launchers,
    memory,
    mismatches,
    misuse,
    settings_and_tables,
    soak,
    solver,
    speed,
)
from .case import Row

_MODULES = (
    arithmetic,
    faults,
    hosts,
    mismatches,
    misuse,
    memory,
    launchers,
    solver,
    speed,
    cache_damage,
    settings_and_tables,
    soak,
)
ROWS: dict[str, Row] = {
    row.number: row
    for row in sorted(
        [*(row for module in _MODULES for row in module.ROWS), solver.DAMAGED], key=lambda row: int(row.number)
    )
}


def chosen(text: str) -> list[Row]:
    """The rows of "1,2,10-14".  Raises ValueError."""
    numbers: list[str] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        try:
            numbers += [str(n) for n in range(int(first), int(last) + 1)] if dash else [first]
        except ValueError:
            raise ValueError(f"--rows {part!r}: give numbers and ranges, such as 1,2,10-14") from None
    if unknown := [number for number in numbers if number not in ROWS]:
        raise ValueError(f"there is no row {', '.join(unknown)}: there are {', '.join(ROWS)}")
    return [ROWS[number] for number in dict.fromkeys(numbers)]
