"""Rows of a result of benchmarks/grids.py, and its numbers in words."""

MODES = {"eager": "one by one", "graph": "in a CUDA graph"}


def rows(data, pes, part):
    """The rows of a part on a number of PEs, [] where it was not measured."""
    return data.get(str(pes), {}).get("parts", {}).get(part, {}).get("rows", [])


def short(us):
    """A time as tables have it, "" where there is none."""
    return "" if us is None else f"{us:.1f}" if us < 100 else f"{us:.0f}"


def mode_us(row, mode):
    """The time of a row in a mode, in words."""
    return short(row["us"].get(mode)) if row else ""


def best_us(row):
    """The time of a row's fastest mode."""
    return min(row["us"].values())


def floor_us(data, what, pes, mode="graph"):
    """us of one of the floors."""
    return next(row["us"] for row in rows(data, pes, "floor") if (row["what"], row["mode"]) == (what, mode))
