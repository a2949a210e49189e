"""docs/reliability.md, made from results."""

from __future__ import annotations

from typing import Any

from .table import ROWS

HEAD = """# Reliability

Made by `python tools/scorecard.py --write docs/reliability.md` from {raw}; each line is a row of
`tools/reliability/table.py`. What each column ran on, and how to run it again, is below the table.
"""
TAIL = """
"Not run" says what the machine lacks. A row holds where every one of its cases kept the promise; a case is one job, or
one call whose result was compared. Every job has a hard limit, and is watched for processes that live on and for names
that stay in /dev/shm.

    python tools/scorecard.py --out results.json                                           # this Python's MPI
    python tools/scorecard.py --mpi mpich=A/bin --mpi openmpi=B/bin --out results.json     # two environments, each whole
    python tools/scorecard.py --rows 1,10-14 --minutes 5 --out some.json
    python tools/scorecard.py --gpu --minutes 6 --out gpus.json
    python tools/scorecard.py --write docs/reliability.md benchmarks/results/reliability.json
"""


def cell(result: dict[str, Any] | None) -> str:
    """A row's result in one column."""
    if result is None:
        return ""
    reasons = sorted({case["not_run"] for case in result["cases"].values() if case.get("not_run")})
    seconds = f"in {result['seconds']:.0f} s"
    if not result["times"] and not result["failed"]:
        return f"not run: {'; '.join(reasons)}" if reasons else "not run"
    if result["held"]:
        return f"held: {result['times']:,} {seconds}" + (f" (not run: {'; '.join(reasons)})" if reasons else "")
    name, failure = next((name, case["failure"]) for name, case in result["cases"].items() if case.get("failure"))
    return f"**not held**: {result['failed']} failed of {result['times']:,} {seconds}; first: {name}: {_plain(failure)}"


def _plain(text: str) -> str:
    """Words for a cell of a table."""
    printed = "".join(letter if letter.isprintable() else " " for letter in text)  # what a job prints may be anything
    return printed.replace("|", "/").replace("`", "'").replace("<", "&lt;")[:240]


def title(run: dict[str, Any]) -> str:
    """A column's head."""
    facts = run["facts"]
    return f"{facts['MPI']}, {facts['devices']}"


def columns(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The runs, those of one title and of different rows in one column."""
    found: list[dict[str, Any]] = []
    for run in runs:
        same = [one for one in found if title(one) == title(run) and not one["rows"].keys() & run["rows"].keys()]
        if same:
            same[0]["rows"].update(run["rows"])
        else:
            found.append(run | {"rows": dict(run["rows"])})
    return found


def page(results: list[dict[str, Any]], raw: list[str]) -> str:
    """The page, as Markdown.  results: of --out, raw: their paths from docs/"""
    runs = [run for result in results for run in result["runs"]]
    links = ", ".join(f"[`{path.rpartition('/')[2]}`]({path})" for path in raw)
    lines = [HEAD.format(raw=links or "results; there are none of this state yet")]
    shown = columns(runs)
    lines += ["| " + " | ".join(["row", "what is tried", "promise", *map(title, shown)]) + " |"]
    lines += ["|" + "---|" * (3 + len(shown))]
    for number, row in ROWS.items():
        cells = [cell(run["rows"].get(number)) for run in shown]
        lines.append("| " + " | ".join([number, row.tried, row.promise, *cells]) + " |")
    lines.append("")
    for run in runs:
        rows = run["rows"]
        held = sum(result["held"] for result in rows.values())
        minutes = sum(result["seconds"] for result in rows.values()) / 60
        facts = ", ".join(f"{name} {value}" for name, value in run["facts"].items() if name not in ("MPI", "devices"))
        how = f"{minutes:.0f} minutes, scale {run['scale']:g}"
        lines.append(f"- **{title(run)}**: {held} of {len(rows)} rows held, {how}; {facts}.")
    return "\n".join(lines) + "\n" + TAIL
