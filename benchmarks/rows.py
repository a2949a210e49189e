"""Files of rows, which tables.py and plots.py read: {"facts": of the machine, "rows": [{...}]}."""

import json
from pathlib import Path

from pennympi.files import write_whole

RESULTS = Path(__file__).resolve().parent / "results"


def write(path, facts, rows):
    """Write rows, and print them."""
    lines = [json.dumps(row) for row in rows]
    head = json.dumps({"facts": facts}, indent=1)[:-2]
    write_whole(Path(path), head + ',\n "rows": [\n  ' + ",\n  ".join(lines) + "\n ]\n}\n")
    print("\n".join(lines), flush=True)


def read(path):
    """(facts, rows) of a file."""
    data = json.loads(path.read_text())
    return data["facts"], data["rows"]


def best(rows, key, **wanted):
    """The row of the smallest ``key`` among those with these values, None if there is none."""
    found = [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]
    return min(found, key=lambda row: row[key], default=None)
