"""The tables of ``pennympi.Comm`` beside mpi4py."""

from captions import machine, short, source, table
from rows import read

from pennympi.units import size_text


def choices(path):
    """Comm beside the two that it chooses from."""
    facts, rows = read(path)
    us = {(row["call"], row["size"], row["way"]): row["us"] for row in rows}
    sizes, lines = sorted({row["size"] for row in rows}), []
    for call in dict.fromkeys(row["call"] for row in rows):
        both = [(us[call, size, "Comm"], min(us[call, size, way] for way in ("mpi4py", "team"))) for size in sizes]
        lines.append([f"`{call}`", *(f"{short(mine)} ({mine / better:.2f})" for mine, better in both)])
    what = "`Comm`, slowest rank, us a call, median of bursts by turns; over the faster of mpi4py and the team"
    yield f"{what} ({machine(facts)}, {source(path)}):"
    yield table(["bytes in all", *map(size_text, sizes)], lines)


def osu(path):
    """mpi4py's OSU benchmarks."""
    facts, rows = read(path)
    us = {(row["program"], row["way"], row["size"]): row["us"] for row in rows}
    sizes = [0, 8, 1 << 10, 1 << 14, 1 << 17, 1 << 20]
    lines = [
        [program, "`Comm`" + way.removeprefix("pennympi") if way != "mpi4py" else way]
        + [short(us.get((program, way, size))) for size in sizes]
        for program, way in dict.fromkeys((row["program"], row["way"]) for row in rows)
    ]
    what = "mpi4py's OSU benchmarks, unchanged, slowest rank, us a message, the median of runs by turns"
    yield f"{what} ({machine(facts)}, {source(path)}):"
    yield table(["program", "communicator", *map(size_text, sizes)], lines)
